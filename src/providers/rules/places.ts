// Closed lists of well-known places and nationalities, because chats write them without capitals: "i live in chicago".

const PLACE_NAMES = `Afghanistan, Alabama, Alaska, Albania, Algeria, Amsterdam, Arizona, Argentina, Arkansas, Athens, Atlanta,
  Austin, Australia, Austria, Bali, Baltimore, Bangkok, Bangladesh, Barcelona, Beijing, Belgium, Berlin,
  Bolivia, Boston, Brazil, Brooklyn, Brussels, Bulgaria, Cairo, California, Cambodia, Canada, Chicago, Chile,
  China, Colombia, Colorado, Connecticut, Copenhagen, Costa Rica, Croatia, Cuba, Cyprus, Dallas, Delaware,
  Delhi, Denmark, Denver, Detroit, Dubai, Dublin, Ecuador, Egypt, England, Estonia, Ethiopia, Europe, Finland,
  Florence, Florida, France, Germany, Ghana, Greece, Guatemala, Hawaii, Hong Kong, Houston, Hungary, Iceland,
  Idaho, Illinois, India, Indiana, Indonesia, Iowa, Iran, Iraq, Ireland, Israel, Istanbul, Italy, Jamaica,
  Japan, Kansas, Kentucky, Kenya, Korea, Kyoto, Las Vegas, Latvia, Lebanon, Lisbon, London, Los Angeles,
  Louisiana, Madrid, Maine, Malaysia, Manhattan, Maryland, Massachusetts, Melbourne, Mexico, Mexico City, Miami,
  Michigan, Milan, Minnesota, Mississippi, Missouri, Montana, Montreal, Morocco, Moscow, Mumbai, Munich,
  Nashville, Nebraska, Nepal, Nevada, New Jersey, New Mexico, New Orleans, New York, New York City, New Zealand,
  Nigeria, North Carolina, Norway, NYC, Ohio, Oklahoma, Oregon, Orlando, Osaka, Oslo, Pakistan, Panama, Paris,
  Pennsylvania, Peru, Philadelphia, Phoenix, Poland, Portland, Portugal, Prague, Puerto Rico, Queens, Rhode
  Island, Romania, Rome, Russia, San Antonio, San Diego, San Francisco, San Jose, Scotland, Seattle, Senegal,
  Seoul, Serbia, Shanghai, Singapore, Slovakia, Slovenia, South Africa, South Carolina, South Korea, Spain, Sri
  Lanka, Stockholm, Sweden, Switzerland, Sydney, Syria, Taiwan, Tennessee, Texas, Thailand, Tokyo, Toronto,
  Tunisia, Turkey, Uganda, Ukraine, Utah, Vancouver, Venezuela, Venice, Vermont, Vienna, Vietnam, Virginia,
  Wales, Warsaw, Washington, West Virginia, Wisconsin, Wyoming, Zurich, the Bronx, the Netherlands, the
  Philippines, the UK, the US, the USA, the Bay Area`

const byLower = new Map(PLACE_NAMES.split(/,\s*/).map((name) => [name.toLowerCase(), name]))
/** Number of words of the longest name. */
const MAX_WORDS = 3

/** Reads a well-known place at the beginning of the text, in any case; null if there is none. */
export function knownPlace(text: string): string | null {
  const words = text.trim().split(/\s+/).slice(0, MAX_WORDS)
  for (let count = words.length; count > 0; count--) {
    const name = byLower.get(
      words
        .slice(0, count)
        .join(' ')
        .toLowerCase()
        .replace(/[.,!;:]+$/, ''),
    )
    if (name !== undefined) return name
  }
  return null
}

/** Nationalities and ethnic groups, for "I'm Korean". */
export const DEMONYMS =
  `Afghan, African[- ]American, Albanian, Algerian, American, Arab, Argentinian, Armenian, Asian, Asian[-
  ]American, Australian, Austrian, Bangladeshi, Belgian, Bengali, Black, Bolivian, Brazilian, British,
  Bulgarian, Cambodian, Canadian, Chilean, Chinese, Chinese[- ]American, Colombian, Croatian, Cuban, Czech,
  Danish, Dominican, Dutch, Ecuadorian, Egyptian, English, Estonian, Ethiopian, Filipino, Filipina, Finnish,
  French, German, Ghanaian, Greek, Guatemalan, Haitian, Hispanic, Hungarian, Icelandic, Indian, Indonesian,
  Iranian, Iraqi, Irish, Israeli, Italian, Jamaican, Japanese, Kenyan, Korean, Korean[- ]American, Kurdish,
  Latina, Latino, Lebanese, Lithuanian, Malaysian, Mexican, Mexican[- ]American, Moroccan, Nepali, Nigerian,
  Norwegian, Pakistani, Palestinian, Persian, Peruvian, Polish, Portuguese, Puerto Rican, Romanian, Russian,
  Salvadoran, Scottish, Serbian, Slovak, Somali, Spanish, Sudanese, Swedish, Swiss, Syrian, Taiwanese, Thai,
  Tunisian, Turkish, Ukrainian, Venezuelan, Vietnamese, Welsh`
    .split(/,\s*/)
    .join('|')
