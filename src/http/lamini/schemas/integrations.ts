import type { IncomingHttpHeaders } from 'node:http'
import { z } from 'zod'
import { trackersPerJob, type TrackerRequest } from '../../../domain/tracker.ts'
import type { Integration } from '../../../services/trackers/accept.ts'
import { named } from '../../kit/named-schemas.ts'

const onlyMlflow =
  'must be mlflow: no other tracker is supported. Use it, or read the series of the job as events of the type metrics, as its result_files (CSV), as its TensorBoard file, or from GET /v1/train/jobs/{job_id}/metrics and /stream'

const noQuery =
  'must have no query and no fragment: give the address of the MLflow server up to the first ? or #, such as https://mlflow.example.com'

const text = z.string().min(1).max(250)

const Integration = named(
  'Integration',
  z.object({
    type: z.literal('mlflow', { error: onlyMlflow }).describe('The kind of tracker: mlflow'),
    tracking_uri: z
      .string()
      .min(1)
      .max(2048)
      .regex(/^[^?#]*$/, { error: noQuery })
      .describe(
        'The address of the MLflow server, such as https://mlflow.example.com. The rules of webhooks hold for it',
      ),
    experiment: text.nullish().describe('The name of the experiment, made if there is none; anneal when absent'),
    run_name: text.nullish().describe('The name of the run; the custom_model_name or the id of the job when absent'),
    username: text
      .regex(/^[^:]*$/, { error: 'must not have a colon: basic authentication ends the user name at it' })
      .nullish()
      .describe('Sent with `password` as HTTP basic authentication'),
    password: text.nullish().describe('Kept encrypted, and in no answer'),
    token: z
      .string()
      .min(1)
      .max(4096)
      .regex(/^[!-~]+$/, { error: 'must have visible ASCII characters only: remove line breaks and spaces' })
      .nullish()
      .describe('Sent as a bearer token in place of a user name. Kept encrypted, and in no answer'),
  }),
)

export const Integrations = z.array(Integration).max(trackersPerJob)

export const ShownIntegration = named(
  'ShownIntegration',
  z.object({
    type: z.literal('mlflow').describe('The kind of tracker'),
    tracking_uri: z.string().describe('The address of the MLflow server'),
    experiment: z.string().nullable().describe('The name of the experiment; null for the default, anneal'),
    run_name: z.string().nullable().describe('The name of the run; null for the default'),
  }),
)

/** @param request tells under which address the client knows this service */
export const integrationsOf = (
  given: z.output<typeof Integrations> | null | undefined,
  { headers: { host }, isSecure }: { headers: IncomingHttpHeaders; isSecure: boolean },
): Integration[] =>
  (given ?? []).map(({ type, tracking_uri: trackingUri, run_name: runName, ...rest }) => ({
    ...{ type, trackingUri, serviceUrl: host === undefined ? null : `${isSecure ? 'https' : 'http'}://${host}` },
    ...{ experiment: rest.experiment ?? null, runName: runName ?? null },
    ...{ username: rest.username ?? null, password: rest.password ?? null, token: rest.token ?? null },
  }))

export const shownIntegration = ({ type, trackingUri, experiment, runName }: TrackerRequest) => ({
  type,
  tracking_uri: trackingUri,
  experiment,
  run_name: runName,
})
