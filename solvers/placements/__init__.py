"""Plans made site by site: sites, short paths over them, three layouts and what a placement is worth."""
