// @ts-check
/** The page of a server: its engine is the server. */

import { Remote } from "./remote.js";
import { show } from "./page.js";

show(new Remote());
