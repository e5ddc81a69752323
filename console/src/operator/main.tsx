// The page of operators, on the admin port. The operator's token stays in the memory of the page: a reload asks again.
import { mount } from '../ui/mount.tsx'
import { OperatorPage } from './page.tsx'

mount(<OperatorPage />)
