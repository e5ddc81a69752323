/** In the data directory of the stack. @param name of the process */
export const socketName = (name: string) => `holds-${name}.sock`
