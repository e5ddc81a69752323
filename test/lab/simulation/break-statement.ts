// Imported before a test, this module breaks the statement that the variable names.
import { breakStatement } from './breaks.ts'

breakStatement(process.env['ANNEAL_TEST_BROKEN_STATEMENT'] ?? '')
