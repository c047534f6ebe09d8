// The pages for unknown addresses, and for programs that cannot be returned to: only the choice of the language needs a script.

import { open } from '../lib/page.js';

open(() => {});
