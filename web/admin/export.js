// Saves the rows that match the filters as a file. The token is sent in a header, so the browser cannot download it by itself:
// the file is read here, and saved when it is complete.

import { headersOf } from '../client/api.js';
import { problems } from '../components/dialog.js';
import { fill, h } from '../lib/dom.js';
import { saveFile } from '../components/save-file.js';
import { language, learn, say } from '../lib/words.js';

learn({
  export_lead: ['Export all entries that match the filters:', '导出符合筛选条件的全部记录：'],
  export_csv: ['CSV', 'CSV'],
  export_jsonl: ['JSON lines', 'JSON Lines'],
  export_going: ['{size} so far…', '已接收 {size}…'],
  export_done: ['Saved {file}: {size}.', '已保存 {file}，{size}。'],
  export_broken: [
    'The export was interrupted after {size}, so nothing was saved. Check your connection and try again, or choose a shorter period.',
    '导出在接收 {size} 后中断，未保存任何文件。请检查网络后重试，或缩短时间范围。',
  ],
  export_stopped: ['Stopped. Nothing was saved.', '已取消，未保存任何文件。'],
});

const KINDS = { csv: 'text/csv', jsonl: 'application/jsonl' };
const NO_SESSION = 1001;
/** How many bytes are kept in pieces before the browser may move them to disk. */
const HANDFUL = 4 << 20;

/** A line with a button for each file format; `path()` is the path to request. Returns the line, and a function that stops it. */
export function exporter(desk, path) {
  const run = { giveUp: null };
  const line = h('p', { class: 'lead', role: 'status', id: 'export-state' });
  const stop = h('button', {
    class: 'button small', 'data-act': 'stop-export', hidden: true, onclick: () => run.giveUp.abort(),
  }, say('cancel'));
  const buttons = Object.keys(KINDS).map((kind) =>
    h('button', { class: 'button small', 'data-act': `export-${kind}`, onclick: () => start(kind) }, say(`export_${kind}`)));
  const start = async (kind) => {
    run.giveUp = new AbortController();
    for (const button of buttons) button.disabled = true;
    stop.hidden = false;
    stop.focus();
    const result = await save(desk, { path: path(), kind, signal: run.giveUp.signal, going: (text) => fill(line, text) });
    for (const button of buttons) button.disabled = false;
    const focused = document.activeElement === stop;
    stop.hidden = true;
    fill(line, result);
    if (focused) buttons[Object.keys(KINDS).indexOf(kind)].focus();
  };
  const element = h('div', { class: 'row export', id: 'export', role: 'group', 'aria-labelledby': 'export-lead' },
    h('p', { class: 'lead', id: 'export-lead' }, say('export_lead')), buttons, stop, line);
  return { element, stop: () => run.giveUp && run.giveUp.abort() };
}

/** Downloads a file and saves it; returns the message for the user. Only a complete file is saved. */
async function save(desk, { path, kind, signal, going }) {
  let size = 0;
  try {
    const headers = { ...headersOf({ token: desk.token }), Accept: KINDS[kind] };
    const response = await fetch(path, { headers, cache: 'no-store', redirect: 'error', signal });
    if (!response.ok) return await refused(desk, response);
    const blob = await gathered(response, (more) => {
      size += more;
      going(say('export_going', { size: bytes(size) }));
    });
    // A user who signed out meanwhile gets no file.
    if (desk.over) return '';
    const file = nameOf(response) || `login-log.${kind}`;
    saveFile(new Blob([blob], { type: KINDS[kind] }), file);
    return say('export_done', { file, size: bytes(size) });
  } catch (_) {
    return signal.aborted ? say('export_stopped') : say('export_broken', { size: bytes(size) });
  }
}

/** Reads to the end, and fails unless the response is complete. */
async function gathered(response, came) {
  const reader = response.body.getReader();
  let [pieces, held] = [[], 0];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return new Blob(pieces);
    pieces.push(value);
    held += value.length;
    came(value.length);
    if (held > HANDFUL) [pieces, held] = [[new Blob(pieces)], 0];
  }
}

async function refused(desk, response) {
  const answer = await response.json();
  // Another request in the session handles its end as everywhere.
  if (answer.code === NO_SESSION) await desk.get('/api/auth/me');
  return problems(answer);
}

const nameOf = (response) => /filename="([\w.-]+)"/.exec(response.headers.get('Content-Disposition') || '')?.[1];

function bytes(size) {
  const [unit, by] = size < 1000 ? ['byte', 1] : size < 1e6 ? ['kilobyte', 1e3] : ['megabyte', 1e6];
  return (size / by).toLocaleString(language, { style: 'unit', unit, unitDisplay: 'short', maximumFractionDigits: 1 });
}
