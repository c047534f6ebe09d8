// Says that nobody administers the desk yet, and which command appoints the first administrator.

import { fill, h } from './dom.js';
import { learn, say } from './words.js';

learn({
  not_set_up: ['This desk is not set up yet: it has no administrator.', '服务台尚未设置完成：还没有管理员。'],
  not_set_up_how: [
    'On the server, for a person who has signed in before:',
    '请在服务器上为已登录过的人员运行：',
  ],
  not_set_up_you: ['Your employee ID is {id}.', '您的员工账号是 {id}。'],
});

const COMMAND = 'deskpass role grant EMPLOYEE admin';

/** Says so in this place; a signed-in user also reads the `id` to enter. */
export function tellNotSetUp(place, id = '') {
  fill(place,
    h('div', { class: 'notice', role: 'status' },
      h('strong', {}, say('not_set_up')),
      h('p', {}, say('not_set_up_how')),
      h('p', {}, h('code', {}, COMMAND)),
      id && h('p', {}, say('not_set_up_you', { id }))));
  place.hidden = false;
}
