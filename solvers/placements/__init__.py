"""Uniform plans, and site-by-site plans: sites, short paths over them, three layouts, evaluation."""
