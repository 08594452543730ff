export * from '../request/members';
