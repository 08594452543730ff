/** What rotation does where a file cannot be looked at. */
import { realFiles } from '../../lib/journal/file-calls';
import { rotate } from '../../lib/journal/rotation';

function failing(code: string) {
  const moves: string[][] = [];
  const calls = {
    ...realFiles,
    stat: () => Promise.reject(Object.assign(new Error(`${code}: words`), { code })),
    rename: (from: string, to: string) => Promise.resolve(void moves.push([from, to])),
  };
  return { moves, calls };
}

describe('rotation', () => {
  it('moves nothing where it cannot tell whether a name is free: that file may hold rows', async () => {
    const { calls, moves } = failing('EACCES');
    await expect(rotate(calls, '/j', 8)).rejects.toThrow('EACCES');
    expect(moves).toEqual([]);
  });

  it('takes a name that no file has', async () => {
    const { calls, moves } = failing('ENOENT');
    await rotate(calls, '/j', 8);
    expect(moves).toEqual([['/j', '/j.1']]);
  });
});

describe('the file system of the journal', () => {
  it('says with an error code what a descriptor cannot do', async () => {
    const fd = await realFiles.open(__filename, 'r');
    expect(await realFiles.byteAt(fd, 0)).toBe('/'.charCodeAt(0));
    expect(await realFiles.byteAt(fd, 1e9)).toBe(-1);
    await expect(realFiles.write(fd, Buffer.from('x'), 0)).rejects.toMatchObject({ code: 'EBADF' });
    await realFiles.close(fd);
    await expect(realFiles.byteAt(fd, 0)).rejects.toMatchObject({ code: 'EBADF' });
  });
});
