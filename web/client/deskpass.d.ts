// The types of deskpass.js. How to use it: docs/api.md, "The client module".

/** A role of a user. */
export type Role = 'admin' | 'agent' | 'user' | 'supervisor' | 'security';

/** A client, whose page asks for a sign-in. */
export type Client = 'h5' | 'itagent' | 'itadmin';

/** The way in which a session began. */
export type LoginMethod = 'qrcode' | 'oauth2' | 'bind' | 'password' | 'dev';

/** A response of the service: `code` tells which. No function of this module throws or rejects. */
export type Answer<T> = Success<T> | Failure;

/** The request succeeded. */
export interface Success<T> {
  code: 0;
  message: string;
  data: T;
  wait: number;
  ref: string;
}

/** A code of the service (docs/api.md, "Codes and reasons"), or -1 without a readable response. */
export type ErrorCode =
  | -1
  | 1001 | 1002 | 1003 | 1004 | 1005 | 1006 | 1007 | 1008 | 1009 | 1010
  | 1011 | 1012 | 1013 | 1014 | 1015 | 1016 | 1017 | 1018 | 1019;

/** The request was refused or failed. */
export interface Failure {
  code: ErrorCode;
  /** What went wrong, for people, in the language of the page. */
  message: string;
  /** `reason` is a word for programs; `fields` has the error of each invalid field. */
  data: { reason?: string; fields?: Record<string, string> } | null;
  /** The number of seconds before a retry; 0 unless the service named one. */
  wait: number;
  /** The reference by which the help desk finds the refusal in its logs; empty where there is none. */
  ref: string;
}

/** Sends a request by any method, with a JSON body, a token and a one-time password if given. */
export function ask<T = unknown>(
  method: string,
  path: string | URL,
  given?: { body?: unknown; token?: string; code?: string; approval?: string },
): Promise<Answer<T>>;

/** Sends a GET request. */
export function get<T = unknown>(path: string | URL, token?: string): Promise<Answer<T>>;

/** Posts JSON. */
export function post<T = unknown>(path: string | URL, body: unknown, token?: string): Promise<Answer<T>>;

/** A QR code, as `waiting` reports it; with the `expires_in` that is left it can be followed again after a reload. */
export interface KnownCode {
  ticket: string;
  qrcode_png_base64: string;
  qrcode_url: string;
  expires_in: number;
  /** The number to show below the code, where the user must pick it on the phone. */
  match_number?: number;
}

/** A step of a sign-in with a QR code. `reason` says why it ended early, and is empty where it merely expired. */
export type ScanUpdate =
  | ({ status: 'waiting' } & KnownCode)
  | { status: 'scanned'; name: string | null; employee_id: string | null }
  | { status: 'confirmed'; token: string }
  | { status: 'expired'; reason: '' | EarlyEnd }
  | { status: 'failed'; message: string };

/**
 * Requests a QR code and follows it until the user is signed in (`confirmed`) or the code has expired. `match` says that the page
 * shows `match_number`: where the settings want one (`auto`), or always.
 * Returns a function that stops following.
 */
export function signInByCode(
  client: Client,
  onChange: (update: ScanUpdate) => void,
  known?: KnownCode | null,
  options?: { match?: 'auto' | '1' },
): () => void;

/** Removes the fragment from the address and returns its members. A fragment that begins with `#/` is a place and stays. */
export function takeFragment(): URLSearchParams;

/** Why a sign-in with a QR code ended before its time. */
export type EarlyEnd = 'cancelled' | 'wrong_number' | 'not_a_member' | 'no_role' | 'left' | 'disabled' | 'address_not_allowed' | 'refused';

/** The state of a ticket. */
export interface ScanState {
  status: 'waiting' | 'scanned' | 'confirmed' | 'expired';
  employee_id: string | null;
  name: string | null;
  token: string | null;
  reason?: EarlyEnd;
}

/** Trades the ticket from the fragment; `data.token` is null where it is no longer valid. */
export function tradeTicket(ticket: string): Promise<Answer<ScanState>>;

/** Begins a sign-in at the platform: go to `data.authorize_url` with `location.assign`. */
export function startOAuth(
  mode?: 'client' | 'web',
  redirectUri?: string,
): Promise<Answer<{ authorize_url: string; redirect_uri: string }>>;

/** The words with which the service explains a sign-in at the platform that failed. */
export const SIGN_IN_ERRORS: readonly SignInError[];

/** A word of `SIGN_IN_ERRORS`. */
export type SignInError =
  | 'denied'
  | 'invalid_code'
  | 'not_a_member'
  | 'no_role'
  | 'holder_unconfirmed'
  | 'disabled'
  | 'platform_unavailable'
  | 'internal';

/**
 * Passes `?code&state` of the platform on to the service. `leaving`: the browser is on its way, so do nothing more; `denied`:
 * the user refused; `none`: the page was not loaded by the platform.
 */
export function returnFromPlatform(): 'none' | 'leaving' | 'denied';

/** How a sign-in at the platform ended, or that the page was not loaded for one. */
export type SignInOutcome =
  | { status: 'none' }
  | { status: 'leaving' }
  | { status: 'signed_in'; token: string }
  | { status: 'bind'; bind_ticket: string; scanned: boolean }
  | { status: 'refused'; error: SignInError; ref: string }
  | { status: 'expired' }
  | { status: 'failed'; message: string };

/** Finishes a sign-in at the platform, whichever step the page was loaded for. Call it first on every load of the page. */
export function finishSignIn(): Promise<SignInOutcome>;

/** The signed-in user. */
export interface User {
  employee_id: string;
  corp_id: string;
  name: string;
  avatar: string;
  department: string;
  roles: Role[];
  current_role: Role;
  login_source: Client;
}

/** Reads the signed-in user and the active role. */
export function me(token: string): Promise<Answer<User>>;

/** Makes another role the active one. */
export function switchRole(
  token: string,
  role: Role,
): Promise<Answer<{ success: boolean; current_role: Role; message: string }>>;

/** Ends the session; it has ended once `code` is 0 or 1001, and not before. */
export function signOut(token: string): Promise<Answer<{ success: boolean; message: string }>>;

/** A reply to a message: one of its options as it was in the message, or a text of 1 to 2000 characters. */
export type MessageReply = { message_id: string; option: unknown } | { message_id: string; text: string };

/** Replies to a message of the socket; the help desk has accepted the reply once `code` is 0, and not before. */
export function reply(token: string, given: MessageReply): Promise<Answer<{ delivered: boolean; id: string }>>;

/** Whether a role may open the agents' socket. */
export function actsAsAgent(role: string): boolean;

/** A frame of a socket. */
export interface Frame {
  id?: string;
  msg_type: string;
  content?: unknown;
  extra_data?: unknown;
  [member: string]: unknown;
}

/** Called with a frame; `text` is the frame as it came, for numbers beyond 2^53. */
export type FrameHandler = (frame: Frame, text: string) => void;

/** The options of a socket. */
export interface ConnectOptions {
  socket: 'employee' | 'agent';
  /** The token of a session. */
  token: string;
  /** The address of the service, if it is not the page's origin. */
  base?: string;
  /** The id of the last frame that an earlier connection received. */
  lastId?: string;
  /** Handlers of frames, by their `msg_type`. */
  on?: Record<string, FrameHandler>;
  /** Gets every frame, of unknown types too. */
  onMessage?: FrameHandler;
  /** Frames may have been missed: reload the data that is shown. */
  onGap?: () => void;
  onState?: (state: 'connecting' | 'live' | 'waiting' | 'ended') => void;
  /** It does not reconnect by itself: the session has ended, the role may not use it, or a newer socket replaced this one. */
  onEnd?: (end: { over: 'session' | 'role' | 'place'; reason: string }) => void;
}

/** A socket that is kept open. */
export interface Connection {
  /** The id of the last frame received. */
  readonly lastId: string;
  /** Continues after an end, unless the session has ended. */
  reconnect(): void;
  /** Closes it for good. */
  close(): void;
}

/** Opens a socket and keeps it open: after every break it reconnects and resumes. */
export function connect(options: ConnectOptions): Connection;

/** A text that arrives piece by piece. */
export interface StreamedText {
  stream_id: string;
  /** The text so far. */
  text: string;
  /** What the last frame added. */
  added: string;
  done: boolean;
  /** False once a piece is missing. */
  whole: boolean;
}

/** Assembles the streams of `typewriter` frames. */
export class Typewriter {
  constructor();
  /** Takes a frame; null when it changes nothing. */
  take(frame: Frame): StreamedText | null;
  /** Forgets a stream, or all of them. */
  forget(stream_id?: string): void;
}
