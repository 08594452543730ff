/** The doc comments of the public API, as the compiler reads them. */
import { join } from 'node:path';
import ts from 'typescript';
import { ROOT } from './markdown';

const ENTRIES = ['lib/index.ts', 'lib/testing/index.ts'].map((path) => join(ROOT, path));

/** One exported name, or a member of one. */
export interface DocumentedItem {
  /** `NarwhalRouterOptions.fleet`. */
  readonly name: string;
  readonly isFunction: boolean;
  /** An option: a member that may be left out, of an interface whose name ends with `Options`. */
  readonly isOption: boolean;
  /** Text of its comment, without tags. Empty where there is none. */
  readonly text: string;
  /** Its block tags: name to texts. */
  readonly tags: ReadonlyMap<string, readonly string[]>;
}

function optionsOfProject(): ts.CompilerOptions {
  const file = join(ROOT, '.config/tsconfig.check.json');
  const { config } = ts.readConfigFile(file, ts.sys.readFile) as { config: object };
  return ts.parseJsonConfigFileContent({ ...config, include: [] }, ts.sys, join(ROOT, '.config')).options;
}

/** Everything that both entries export, with the members of interfaces and classes. */
export function publicItems(): readonly DocumentedItem[] {
  const program = ts.createProgram(ENTRIES, optionsOfProject());
  const checker = program.getTypeChecker();
  return ENTRIES.flatMap((entry) => {
    const module = checker.getSymbolAtLocation(program.getSourceFile(entry)!)!;
    return checker.getExportsOfModule(module).flatMap((symbol) => {
      const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
      return itemsOf(target, symbol.name, checker);
    });
  });
}

function itemsOf(symbol: ts.Symbol, name: string, checker: ts.TypeChecker): DocumentedItem[] {
  const declarations = symbol.declarations ?? [];
  const members = declarations.flatMap((one) =>
    ts.isInterfaceDeclaration(one) || ts.isClassDeclaration(one) ? membersOf(one, name, checker) : [],
  );
  return [itemOf(symbol, name, checker, declarations.some(ts.isFunctionDeclaration)), ...members];
}

type Members = ts.InterfaceDeclaration | ts.ClassDeclaration | ts.TypeLiteralNode;

/** Members that hosts see, also those of object types written in place. */
function membersOf(parent: Members, owner: string, checker: ts.TypeChecker): DocumentedItem[] {
  return parent.members.flatMap((member): DocumentedItem[] => {
    const symbol = member.name === undefined ? undefined : checker.getSymbolAtLocation(member.name);
    if (symbol === undefined || isHidden(member)) return [];
    const name = `${owner}.${symbol.name}`;
    const inner =
      ts.isPropertySignature(member) && member.type !== undefined && ts.isTypeLiteralNode(member.type)
        ? membersOf(member.type, name, checker)
        : [];
    const isOption = owner.endsWith('Options') && Boolean(symbol.flags & ts.SymbolFlags.Optional);
    return [{ ...itemOf(symbol, name, checker, false), isOption }, ...inner];
  });
}

/** Private, or left out of the types by `stripInternal`, or said where it is inherited from. */
function isHidden(member: ts.ClassElement | ts.TypeElement): boolean {
  if (member.name !== undefined && ts.isPrivateIdentifier(member.name)) return true;
  if (ts.getJSDocTags(member).some(({ tagName }) => tagName.text === 'internal')) return true;
  return ts.canHaveModifiers(member) && hasOverride(ts.getModifiers(member));
}

function hasOverride(modifiers: readonly ts.Modifier[] | undefined): boolean {
  return modifiers?.some(({ kind }) => kind === ts.SyntaxKind.OverrideKeyword) ?? false;
}

function itemOf(
  symbol: ts.Symbol,
  name: string,
  checker: ts.TypeChecker,
  isFunction: boolean,
): DocumentedItem {
  const tags = new Map<string, string[]>();
  for (const tag of symbol.getJsDocTags(checker)) {
    tags.set(tag.name, [...(tags.get(tag.name) ?? []), ts.displayPartsToString(tag.text)]);
  }
  const text = ts.displayPartsToString(symbol.getDocumentationComment(checker)).trim();
  return { name, isFunction, isOption: false, text, tags };
}

/**
 * Compiles texts as ES modules of the tests.
 *
 * @returns for each text what the compiler says of it, one line each.
 */
export function typeErrors(texts: readonly string[]): readonly (readonly string[])[] {
  const files = new Map(texts.map((text, at) => [join(ROOT, `__tests__/example-${at}.mts`), text]));
  const options = { ...optionsOfProject(), noUnusedLocals: false, noUnusedParameters: false };
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile } = host;
  host.fileExists = (path) => files.has(path) || fileExists(path);
  host.readFile = (path) => files.get(path) ?? readFile(path);
  host.getSourceFile = (path, languageVersion) => {
    const text = host.readFile(path);
    return text === undefined ? undefined : ts.createSourceFile(path, text, languageVersion);
  };
  const program = ts.createProgram([...files.keys()], options, host);
  return [...files.keys()].map((path) =>
    ts
      .getPreEmitDiagnostics(program, program.getSourceFile(path))
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')),
  );
}
