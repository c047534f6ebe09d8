// Assembles texts that arrive piece by piece.

const [STREAMS, AHEAD, LENGTH] = [32, 32, 262144];

/**
 * Assembles the streams of `typewriter` frames, each in the order of its numbers; repeated frames change nothing, and frames that
 * are ahead wait for the ones before them. It keeps the latest 32 streams, of each at most 32 waiting frames and 262 144
 * characters.
 */
export class Typewriter {
  constructor() {
    this.streams = new Map();
  }

  /**
   * Takes a frame.
   * @returns {?{stream_id: string, text: string, added: string, done: boolean, whole: boolean}} the text so far and what
   *   this frame added to it; `whole` is false once a piece is missing. Null when the frame changes nothing.
   */
  take({ content }) {
    const { stream_id, seq, text, done } = content || {};
    const fits = typeof stream_id === 'string' && Number.isSafeInteger(seq) && typeof text === 'string';
    if (!fits) return null;
    const stream = this.streamOf(stream_id, seq);
    if (stream.done || seq < stream.next || stream.ahead.has(seq)) return null;
    stream.ahead.set(seq, { text, done: done === true });
    const before = stream.text.length;
    const from = stream.next;
    // The missing frame will not arrive any more.
    if (stream.ahead.size > AHEAD) skip(stream);
    while (stream.ahead.has(stream.next) && !stream.done) write(stream);
    if (stream.next === from) return null;
    return { stream_id, text: stream.text, added: stream.text.slice(before), done: stream.done, whole: stream.whole };
  }

  /** Forgets a stream, or all of them: after a gap the next frame of each starts it again. */
  forget(stream_id) {
    if (stream_id === undefined) this.streams.clear();
    else this.streams.delete(stream_id);
  }

  streamOf(stream_id, seq) {
    // A stream that is joined in the middle begins there.
    const fresh = { text: '', next: seq, ahead: new Map(), done: false, whole: true };
    const stream = this.streams.get(stream_id) || fresh;
    // The most recently used stream is last.
    this.streams.delete(stream_id);
    this.streams.set(stream_id, stream);
    if (this.streams.size > STREAMS) this.streams.delete(this.streams.keys().next().value);
    return stream;
  }
}

function skip(stream) {
  stream.next = Math.min(...stream.ahead.keys());
  stream.whole = false;
}

function write(stream) {
  const { text, done } = stream.ahead.get(stream.next);
  stream.ahead.delete(stream.next);
  stream.next += 1;
  stream.whole = stream.whole && stream.text.length + text.length <= LENGTH;
  stream.text = (stream.text + text).slice(0, LENGTH);
  stream.done = done;
  if (done) stream.ahead.clear();
}
