import { serviceVerb } from './remote/remote-verb.ts'
import { fileText, idOption, uploadFile } from './remote/upload-file.ts'

export const command = serviceVerb({
  takes: { FILE: fileText },
  options: { dataset: idOption },
  async run({ client, args: [file = ''], values: { dataset }, print }) {
    const uploaded = await uploadFile(client, file, dataset)
    print(uploaded, () => uploaded.dataset_id)
  },
})
