// Older releases of the lamini SDK from PyPI, as programs written years ago use them.
import { expectChecks } from './lamini/run-checks.ts'

for (const version of ['3.0.5', '2.5.4', '2.1.2']) expectChecks(version, 'older.py')
