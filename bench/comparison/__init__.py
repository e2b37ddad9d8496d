"""Two run folders compared: is the newer one worse or slower?"""
