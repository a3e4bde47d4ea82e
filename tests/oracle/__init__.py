"""Tables that are evaluated by weft and by an independent implementation, and compared."""
