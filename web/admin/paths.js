// Identifiers in the paths of the API.

/** What stands for itself in a path, although not everywhere in an address. */
const PLAIN = /%(?:24|26|2B|2C|3A|3B|3D|40)/g;

/** An identifier as a part of a path. Escapes only what needs it: the phone approves no path with escapes, which could mislead. */
export const pathPart = (text) => encodeURIComponent(text).replace(PLAIN, decodeURIComponent);
