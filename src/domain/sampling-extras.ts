/**
 * What a request may ask of an engine beyond temperature, top_p, stop and seed, in the words of vLLM, which our own engine
 * speaks, too. An absent field changes nothing.
 */
export type SamplingExtras = {
  presence_penalty?: number
  frequency_penalty?: number
  repetition_penalty?: number
  logit_bias?: Record<string, number>
  top_k?: number
  min_p?: number
  include_stop_str_in_output?: boolean
  /** A number for prompts, true for a conversation, which has `top_logprobs` for the number. */
  logprobs?: number | boolean
  top_logprobs?: number
  echo?: boolean
}
