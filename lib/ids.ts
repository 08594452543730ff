/** Ids of requests and of journals. */
import { customAlphabet } from 'nanoid';

/** Letters and digits only: an id that began with a dash would be read as a flag on a command line. */
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 125 random bits. */
const LENGTH = 21;

/** @returns a new id: 21 letters and digits, never the same twice. */
export const newId: () => string = customAlphabet(ALPHABET, LENGTH);
