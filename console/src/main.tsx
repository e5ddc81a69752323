// The console. Its only state is the session, the theme, and the address of the page.
import { takeFromAddress } from './api/session.ts'
import { App } from './app.tsx'
import { mount } from './ui/mount.tsx'

void takeFromAddress().then(() => mount(<App />))
