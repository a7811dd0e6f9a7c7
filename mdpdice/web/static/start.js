// @ts-check
/** The page of a server: its engine is the server. */

import { openServer } from "./remote.js";
import { show } from "./page.js";

show(await openServer());
