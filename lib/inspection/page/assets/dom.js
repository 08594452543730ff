/** Changes the document in place: focus, selection and a reader's position stay where they are. */

/**
 * @typedef {object} Cell
 * @property {string} [text]
 * @property {string} [more] a second line
 * @property {string} [tone] makes the text a mark
 * @property {boolean} [code]
 * @property {number} [share] of a bar, 0 to 1
 * @property {string} [time] ISO 8601, for the text
 * @property {string} [kind] class of the cell
 * @property {boolean} [head] the row's header
 */

/** @typedef {{ key: string, cells: Cell[] }} Row */

/** @param {string} id @returns {HTMLElement} */
function byId(id) {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no ${id}`);
  return found;
}

/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {string} [kind]
 * @param {string} [text]
 */
function make(tag, kind = '', text = '') {
  const element = document.createElement(tag);
  if (kind !== '') element.className = kind;
  if (text !== '') element.textContent = text;
  return element;
}

/** @param {Element} element @param {string} text */
function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** @param {Element} element @param {string} name @param {string | null} value */
function setAttribute(element, name, value) {
  if (value === null) element.removeAttribute(name);
  else if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

/** @param {string} id @param {string} text @param {string | null} [tone] */
function say(id, text, tone = null) {
  const element = byId(id);
  setText(element, text);
  setAttribute(element, 'data-tone', tone);
}

/** Rows by key: those that stay are kept, in the order of the list. @param {Element} body @param {Row[]} rows */
function fillRows(body, rows) {
  const known = new Map(Array.from(body.children, (row) => [row.getAttribute('data-key'), row]));
  const wanted = rows.map(({ key, cells }) => {
    const row = known.get(key) ?? newRow(body, key, cells);
    cells.forEach((cell, at) => {
      fillCell(/** @type {Element} */ (row.children[at]), cell);
    });
    return row;
  });
  for (const row of known.values()) if (!wanted.includes(row)) row.remove();
  wanted.forEach((row, at) => {
    if (body.children[at] !== row) body.insertBefore(row, body.children[at] ?? null);
  });
}

/** @param {Element} body @param {string} key @param {Cell[]} cells */
function newRow(body, key, cells) {
  const row = make('tr');
  row.dataset['key'] = key;
  const isStyled = body.hasAttribute('role');
  if (isStyled) row.setAttribute('role', 'row');
  for (const { head, kind } of cells) {
    const cell = make(head === true ? 'th' : 'td', kind);
    if (head === true) cell.setAttribute('scope', 'row');
    if (isStyled) cell.setAttribute('role', head === true ? 'rowheader' : 'cell');
    row.append(cell);
  }
  return row;
}

/** @param {Element} element @param {Cell} cell */
function fillCell(element, cell) {
  if (element.firstElementChild === null) {
    const tag = cell.time === undefined ? (cell.code === true ? 'code' : 'span') : 'time';
    element.append(make(tag, cell.tone === undefined ? '' : 'mark'), make('span', 'more'));
    if (cell.share !== undefined) element.append(newBar());
  }
  const [main, more, bar] = /** @type {HTMLElement[]} */ (Array.from(element.children));
  if (main === undefined || more === undefined) return;
  setText(main, cell.text ?? '');
  setAttribute(main, 'data-tone', cell.tone ?? null);
  if (cell.time !== undefined) {
    setAttribute(main, 'datetime', cell.time);
    setAttribute(main, 'title', cell.time);
  }
  setText(more, cell.more ?? '');
  more.hidden = (cell.more ?? '') === '';
  const filled = bar?.firstElementChild;
  if (filled instanceof HTMLElement) filled.style.width = `${Math.round((cell.share ?? 0) * 100)}%`;
}

/**
 * States the roles of a table whose rows the style makes into cards: without them it would be none for those
 * who listen.
 *
 * @param {string} id
 */
function keepRoles(id) {
  const table = byId(id);
  table.setAttribute('role', 'table');
  for (const part of table.querySelectorAll('thead, tbody')) part.setAttribute('role', 'rowgroup');
  for (const row of table.querySelectorAll('tr')) row.setAttribute('role', 'row');
  for (const cell of table.querySelectorAll('th')) cell.setAttribute('role', 'columnheader');
}

/** The number beside it says the same. */
function newBar() {
  const bar = make('span', 'bar');
  bar.setAttribute('aria-hidden', 'true');
  bar.append(make('span', 'fill'));
  return bar;
}
