// Starts what a page with scripts has beyond its forms and links; each module stands alone.
import "./toasts.js";
import "./dialogs.js";
import "./panels.js";
import "./undoing.js";
import "./keys.js";
import "./copying.js";
import "./printing.js";
import "./clock.js";
import "./history.js";
import "./live.js";
