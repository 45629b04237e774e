// Starts what a page with scripts has beyond its forms and links; each module stands alone.
import "./history.js";
