// Starts what a page with scripts has beyond its forms and links; each module stands alone.
import "./clock.js";
import "./history.js";
import "./live.js";
