Boutput0Jwm^½¡ƒÁ¿A¿ãso=
S?C"?