import { serviceCommand } from './remote/remote-command.ts'
import { uploadFile } from './remote/upload-file.ts'

export const upload = serviceCommand({
  usage: `FILE [--dataset ID]

  FILE         JSON Lines, a JSON array or CSV, gzipped or not, of {"input", "output"} rows
  --dataset ID id of the data set (default: the file's name and a hash of its content)`,
  options: { dataset: { type: 'string' } },
  takes: { least: 1, most: 1 },
  async run({ client, positionals: [file = ''], values: { dataset }, print }) {
    const uploaded = await uploadFile(client, file, dataset)
    print(uploaded, () => uploaded.dataset_id)
    return 0
  },
})
