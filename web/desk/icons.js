// The icons of the navigation: lines on a grid of 20.

import { svg } from '../lib/dom.js';

const PATHS = {
  overview: 'M3 11h4v6H3zM8 3h4v14H8zM13 7h4v10h-4z',
  people: 'M8 9a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM2.5 17c0-3 2.5-5 5.5-5s5.5 2 5.5 5M13 9.2a3 3 0 0 0 0-6M15 12.4c1.6.8 2.5 2.4 2.5 4.6',
  agents: 'M4 11V9a6 6 0 0 1 12 0v2M4 11h2.5v5H5a1 1 0 0 1-1-1zM16 11h-2.5v5H15a1 1 0 0 0 1-1zM15 16c0 1.5-1.5 2-4 2',
  signed_in: 'M3 4h14v9H3zM7 17h6M10 13v4',
  links: 'M8.5 11.5a3 3 0 0 0 4.3 0l3-3a3 3 0 0 0-4.3-4.3l-1 1M11.5 8.5a3 3 0 0 0-4.3 0l-3 3a3 3 0 0 0 4.3 4.3l1-1',
  access: 'M3 3h5v5H3zM12 3h5v5h-5zM3 12h5v5H3zM12.5 14.5l2 2 3-4',
  role_rules: 'M4 3h5v4H4zM11 13h5v4h-5zM6.5 7v8H11M6.5 10H13V3',
  networks: 'M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14ZM3 10h14M10 3c2.5 2 3.5 4.5 3.5 7s-1 5-3.5 7M10 3C7.5 5 6.5 7.5 6.5 10s1 5 3.5 7',
  keys: 'M7 13.5a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7ZM10.5 10H17v3M14 10v2.5',
  programs: 'M3 3h5.5v5.5H3zM11.5 3H17v5.5h-5.5zM3 11.5h5.5V17H3zM14.25 11.5V17M11.5 14.25H17',
  log: 'M5 2.5h7l3 3v12H5zM8 9h4M8 12h4M8 15h2.5',
  caller: 'M5 3h3l1.5 4-2 1.5a10 10 0 0 0 4 4l1.5-2 4 1.5v3c0 1-1 2-2 2C9 17 3 11 3 5c0-1 1-2 2-2Z',
  messages: 'M3 4h14v10H9l-4 3.5V14H3z',
  calling: 'M5 3h3l1.5 4-2 1.5a9 9 0 0 0 4 4l1.5-2 4 1.5v3a1.5 1.5 0 0 1-1.5 1.5A12 12 0 0 1 3.5 4.5 1.5 1.5 0 0 1 5 3Z',
  account: 'M10 9.5a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7ZM3.5 17.5c0-3.5 3-5.5 6.5-5.5s6.5 2 6.5 5.5',
  security: 'M10 2.5 16 5v4.5c0 4-2.5 6.5-6 8-3.5-1.5-6-4-6-8V5z',
  wrong_role: 'M10 6v5M10 14v.5M10 17.5a7.5 7.5 0 1 0 0-15 7.5 7.5 0 0 0 0 15Z',
  menu: 'M3 5h14M3 10h14M3 15h14',
};

/** The icon of a view; an unknown one has none. */
export const icon = (name) =>
  PATHS[name] && svg('svg', { class: 'icon', viewBox: '0 0 20 20', 'aria-hidden': 'true' }, svg('path', { d: PATHS[name] }));
