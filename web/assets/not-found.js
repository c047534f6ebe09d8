// The page for unknown addresses: only the choice of the language needs a script.

import { open } from './page.js';

open(() => {});
