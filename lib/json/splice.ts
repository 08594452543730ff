export * from '../request/splice';
