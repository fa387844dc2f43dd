void plain_install(void (*work)(void));
int plain_is_installed(void);
int plain_signal(void);
