/** The tables of the page. */

const ROLES = /** @type {const} */ ({
  prefill: 'Prefill',
  decode: 'Decode',
  both: 'Both legs in one',
});

/** @param {PageFrame} frame */
function showEngines({ engines }) {
  const roles = byId('roles');
  for (const role of /** @type {(keyof typeof ROLES)[]} */ (Object.keys(ROLES))) {
    const own = engines.filter((engine) => engine.role === role);
    const panel = roles.querySelector(`[data-role="${role}"]`) ?? newRolePanel(role, own.length);
    if (own.length === 0 || panel === null) {
      panel?.remove();
      continue;
    }
    if (panel.parentElement === null) roles.append(panel);
    const live = own.filter(({ state }) => ['live', 'probation', 'cooling'].includes(state)).length;
    const title = panel.querySelector('h3 span');
    if (title !== null) setText(title, `${live} of ${own.length} take work`);
    const body = panel.querySelector('tbody');
    const most = Math.max(1, ...own.map(loadOf));
    if (body !== null)
      fillRows(
        body,
        own.map((engine) => engineRow(engine, most)),
      );
  }
  roles.querySelector('.empty')?.remove();
}

/** @param {keyof typeof ROLES} role @param {number} engines */
function newRolePanel(role, engines) {
  if (engines === 0) return null;
  const panel = make('div', 'role');
  panel.dataset['role'] = role;
  const title = make('h3', '', `${ROLES[role]} `);
  title.id = `role-${role}`;
  title.append(make('span'));
  const table = make('table');
  table.setAttribute('aria-labelledby', title.id);
  const head = make('tr');
  const columns = [['Engine'], ['State'], ['Load', 'load'], ['Failures', 'number']];
  if (role === 'prefill') columns.splice(3, 0, ['Handoffs held', 'number']);
  for (const [text, kind] of columns) {
    const cell = make('th', kind, text);
    cell.setAttribute('scope', 'col');
    head.append(cell);
  }
  const top = make('thead');
  top.append(head);
  table.append(top, make('tbody'));
  panel.append(title, table);
  return panel;
}

/** What placement compares. @param {EngineView} engine */
function loadOf(engine) {
  return engine.role === 'prefill' ? engine.prefill_tokens : engine.decodes;
}

/** @param {EngineView} engine @param {number} most @returns {Row} */
function engineRow(engine, most) {
  const { word, tone } = STATES[engine.state];
  const isPrefill = engine.role === 'prefill';
  /** @type {Cell[]} */
  const cells = [
    { text: engine.iid, head: true },
    { text: word, tone, more: stateDetail(engine) },
    {
      text: plural(isPrefill ? engine.prefills : engine.decodes, 'leg'),
      more: isPrefill ? plural(engine.prefill_tokens, 'token') : '',
      share: loadOf(engine) / most,
      kind: 'load',
    },
  ];
  if (isPrefill) cells.push({ text: count(engine.handoffs_held), kind: 'number' });
  const ejected = engine.ejections === 0 ? '' : `ejected ${engine.ejections}x`;
  cells.push({ text: count(engine.failures), more: ejected, kind: 'number' });
  return { key: engine.iid, cells };
}

/** @param {PageFrame} frame */
function showRefusals({ refusals }) {
  byId('refusals-table').hidden = refusals.length === 0;
  byId('refusals-empty').hidden = refusals.length > 0;
  const rows = refusals.map(({ terminal, reason, recent, total }) => ({
    key: `${terminal} ${reason}`,
    cells: [
      { text: reason, code: true, more: REASONS[reason] ?? terminal, head: true },
      { text: count(recent), kind: 'number' },
      { text: count(total), kind: 'number' },
    ],
  }));
  fillRows(byId('refusals-rows'), rows);
}

/** @param {PageFrame} frame */
function showFailures({ failures }) {
  byId('failures-table').hidden = failures.length === 0;
  byId('failures-empty').hidden = failures.length > 0;
  const rows = failures.map((failure) => ({
    key: failure.rid,
    cells: [
      { text: `${span(failure.age_s)} ago`, time: failure.at },
      {
        text: failure.reason,
        code: true,
        more: `${REASONS[failure.reason] ?? failure.terminal} (${failure.status})`,
      },
      {
        text: failure.engines.length === 0 ? NONE : failure.engines.join(', '),
        more: plural(failure.attempts, 'attempt'),
      },
      { text: failure.rid, code: true, more: failure.route, head: true },
    ],
  }));
  fillRows(byId('failures-rows'), rows);
}

/** The curves as numbers; made while somebody looks. @param {PageFrame} frame */
function showMinutes({ bins, bin_s: width }) {
  const rows = bins.map((bin, at) => ({ bin, ago: (bins.length - at) * width })).reverse();
  const used = rows.filter(({ bin: { completed, failed, refused } }) => completed + failed + refused > 0);
  byId('minutes-empty').hidden = used.length > 0;
  fillRows(
    byId('minutes-rows'),
    used.map(({ bin, ago }) => ({
      key: String(ago),
      cells: [
        { text: `${ago} s`, head: true },
        { text: count(bin.completed), kind: 'number' },
        { text: count(bin.failed + bin.refused), kind: 'number' },
        spreadCell(bin.first_byte),
        spreadCell(bin.token_interval),
      ],
    })),
  );
}

/** @param {Spread} spread @returns {Cell} */
function spreadCell(spread) {
  if (spread === null) return { text: NONE, kind: 'number' };
  return { text: duration(spread[0]), more: duration(spread[1]), kind: 'number' };
}
