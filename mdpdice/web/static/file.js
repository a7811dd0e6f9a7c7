// @ts-check
/** Where a page begins that is one file. */

import { open } from "./engine.js";
import { show } from "./page.js";

show(await open());
