"""How dates and numbers are written, a package for each language; Django's own formats stand for the rest."""
