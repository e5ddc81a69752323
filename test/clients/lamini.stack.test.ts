// The newest release of the lamini SDK from PyPI: two environment variables, nothing else.
import { expectChecks } from './lamini/run-checks.ts'

expectChecks('3.2.22', 'newest.py')
