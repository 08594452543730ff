/** Runs before every test file: a rejection that nobody handles fails the file that caused it. */
const rejections: unknown[] = [];

process.on('unhandledRejection', (reason) => {
  rejections.push(reason);
});

afterAll(async () => {
  // Node reports a rejection one turn after it was left alone; wait for that turn.
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(rejections).toEqual([]);
});
