"""Plans as one makes them by hand: sites, short paths over them, three layouts and what a placement is worth."""
