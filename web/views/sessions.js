// The user's own sessions.

import { question } from '../components/dialog.js';
import { h } from '../lib/dom.js';
import { deviceName, listing, moment, panel } from '../components/listing.js';
import { programsOf, wordFor } from '../components/login-words.js';
import './security-words.js';
import { say, sayOr } from '../lib/words.js';

/** The panel of the user's own sessions; it has `reload()`. */
export function sessionsPanel(desk) {
  const list = listing({
    label: say('own_sessions'),
    columns: columns(desk, () => settle()),
    id: ({ id }) => id,
    load: () => desk.get('/api/auth/sessions'),
  });
  const button = (name, run) => h('button', { class: 'button small', 'data-act': name, onclick: run }, say(`sessions_${name}`));
  const element = panel(
    say('own_sessions'),
    { id: 'sessions', lead: say('sessions_lead') },
    list,
    h(
      'div',
      { class: 'row' },
      button('end_others', () => endAll(desk, { except_current: true }, () => settle())),
      button('end_all', () => endAll(desk, {}, () => settle())),
    ),
  );
  const title = element.querySelector('h2');
  title.tabIndex = -1;
  // The row with the pressed button is gone: the focus moves to the title.
  const settle = () => {
    list.reload();
    title.focus({ preventScroll: true });
  };
  element.reload = list.reload;
  return element;
}

const columns = (desk, ended) => [
  {
    title: say('own_device'),
    cell: ({ device, user_agent, current, clients }) => h('div', {},
      h('span', { title: user_agent || null }, deviceName(device)),
      current && [' ', h('span', { class: 'tag good' }, say('own_this_one'))],
      programsOf({ clients })),
  },
  { title: say('own_address'), cell: ({ ip_address }) => ip_address || say('unknown') },
  {
    title: say('own_way'),
    cell: ({ login_method, current_role }) => h('span', {}, wordFor('method', login_method), h('small', {}, sayOr(current_role))),
  },
  { title: say('own_since'), cell: ({ created_at }) => moment(created_at) },
  { title: say('own_last_seen'), cell: ({ last_seen_at }) => moment(last_seen_at) },
  {
    hidden: say('own_action'),
    class: 'acts',
    cell: (session) =>
      h(
        'button',
        {
          class: 'button small',
          'data-act': 'end',
          'data-id': session.id,
          onclick: () => end(desk, session, ended),
        },
        say('own_end'),
      ),
  },
];

async function end(desk, { id, current, device, ip_address }, ended) {
  const answer = await question({
    title: say(current ? 'end_this_title' : 'end_title'),
    text: current
      ? say('end_this_text')
      : say('end_text', { device: deviceName(device), address: ip_address || say('unknown') }),
    action: say('own_end'),
    danger: true,
    send: () => leaving(desk, current, () => desk.ask('DELETE', `/api/auth/sessions/${id}`)),
  });
  if (!answer) return;
  if (current) desk.end(say('signed_out'));
  else {
    desk.say(say('ended_one'));
    ended();
  }
}

/** A user who ends their current session must not see that it ended elsewhere, whichever report arrives first. */
async function leaving(desk, current, send) {
  desk.leaving = current;
  const answer = await send();
  desk.leaving = false;
  return answer;
}

async function endAll(desk, body, ended) {
  const all = !body.except_current;
  const answer = await question({
    title: say(all ? 'end_all_title' : 'end_others_title'),
    text: say(all ? 'end_all_text' : 'end_others_text'),
    action: say('own_end'),
    danger: true,
    send: () => leaving(desk, all, () => desk.post('/api/auth/logout-all', body)),
  });
  if (!answer) return;
  if (all) desk.end(say('signed_out_everywhere'));
  else {
    desk.say(answer.data.ended ? say('ended_many', { count: answer.data.ended }) : say('ended_none'));
    ended();
  }
}
