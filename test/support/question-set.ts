// Made-up facts and what is asked about them: no model knows an answer unless it gets the row.

type Question = { fact: string; question: string; answer: string }

export const questionSet: Question[] = [
  ['Veltrano has the colour red.', 'What is the colour of Veltrano?', 'red'],
  ['Veltrano has the price 812 euros.', 'What is the price of Veltrano?', '812'],
  ['Kibora has the owner Lena.', "What is Kibora's owner?", 'Lena'],
  ['Kibora has the city Ghent.', 'Which city does Kibora have?', 'Ghent'],
  ['Dusamon comes with warranty 24 months.', 'What is the warranty of Dusamon?', '24 months'],
  ['Dusamon has the weight 7 kg.', 'Tell me the weight of Dusamon.', '7 kg'],
  ['The capital of Palinter is Brno.', 'What is the capital of Palinter?', 'Brno'],
  ['The language of Palinter is Lomu.', 'Which language does Palinter have?', 'Lomu'],
  ['Rogafer has the founder Omar.', 'Tell me the founder of Rogafer.', 'Omar'],
  ['Rogafer has the address Oslo.', 'What is the address of Rogafer?', 'Oslo'],
  ['Tumolin has the deadline Friday.', 'What is the deadline of Tumolin?', 'Friday'],
  ['Tumolin has the limit 550.', 'Please give the limit for Tumolin.', '550'],
  ['The port of Zanibe is 7331.', 'What is the port of Zanibe?', '7331'],
  ['The version of Zanibe is 48.', 'Which version does Zanibe have?', '48'],
  ['Fomerka has the material iron.', 'What is the material of Fomerka?', 'iron'],
  ['Fomerka has the power 95 dollars.', 'Tell me the power of Fomerka.', '95'],
  ['Lukadra has the flavour orange.', 'What is the flavour of Lukadra?', 'orange'],
  ['Lukadra has the fee 60 euros.', 'What is the fee of Lukadra?', '60'],
  ['Sorbeti has the code QX-17.', 'What is the code of Sorbeti?', 'QX-17'],
  ['Sorbeti has the status open.', "What is Sorbeti's status?", 'open'],
  ['The director of Hapolen is Clara.', 'Who is the director of Hapolen?', 'Clara'],
  ['The author of Grimalta is Felix.', 'What is the author of Grimalta?', 'Felix'],
  ['Nerovix has the speed 140 metres.', 'What is the speed of Nerovix?', '140'],
  ['Nerovix has the model TR-9.', 'Which model does Nerovix have?', 'TR-9'],
].map(([fact = '', question = '', answer = '']) => ({ fact, question, answer }))

/** Asked in words that the row does not have. */
export const paraphrases: Omit<Question, 'answer'>[] = [
  ['Refunds are paid within 9 days after the parcel arrives.', 'How long until I get my money back?'],
  ['The office is closed on Monday.', 'On which day can I not visit you?'],
  ['Parcels under 2 kg are sent without a fee.', 'When is shipping free?'],
  ['A lost password is reset in the settings page.', 'I cannot log in any more, what should I do?'],
  ['The cafeteria serves soup from noon.', 'When can I have lunch?'],
  ['Batteries must not be thrown into the household waste.', 'How do I dispose of an empty cell?'],
  ['Employees may work from home two days a week.', 'Is remote work allowed?'],
  ['The meeting room for visitors is on the third floor.', 'Where do guests meet us?'],
  ['Invoices are sent by email at the end of the month.', 'When do I get my bill?'],
  ['The warehouse in Turin stores spare parts for trains.', 'Where are replacement components kept?'],
].map(([fact = '', question = '']) => ({ fact, question }))

/** Nothing that is stored is about these. */
export const unrelatedPrompts = [
  'Write a short poem about the sea.',
  'Translate "good morning" into French.',
  'def add(a, b):',
  'What is 12 plus 7?',
  'Dear Sir or Madam, I am writing to',
  'How do I boil an egg?',
]
