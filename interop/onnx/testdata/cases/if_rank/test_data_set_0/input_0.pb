Binput0Jwm^=¡ƒÁ?A?ãso½
S¿C"¿