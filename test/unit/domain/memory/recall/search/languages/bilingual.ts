// Chats in German, French and Spanish with questions in English: names, numbers, dates and loan words must suffice.

import type { LanguageSet } from './set.ts'

export const BILINGUAL: Record<string, LanguageSet> = {
  'en on de': {
    turns: [
      ['Jonas', 'Wir fahren am 3. Mai nach Andalusien, Caroline kommt auch mit.'],
      ['Mira', 'Schön! Mein neuer Laptop hat 1299 Euro gekostet, ganz schön teuer.'],
      ['Jonas', 'Herr Petersen aus Rostock hat angerufen, er will das Boot kaufen.'],
      ['Mira', 'Ich nehme jetzt Yoga-Stunden bei Annette im Studio Lotus.'],
      ['Jonas', 'Unser Taxi hatte einen Unfall auf der A7, zum Glück ist niemand verletzt.'],
      ['Mira', 'Das Passwort vom WLAN steht auf dem Router, Nummer 4471.'],
      ['Jonas', 'Die Kinder lieben Minecraft, sie spielen am liebsten den ganzen Tag.'],
      ['Mira', 'Dr. Weber meint, ich soll weniger Kaffee trinken und mehr schlafen.'],
    ],
    questions: [
      ['When is Caroline going to Andalusien?', 0],
      ['What cost 1299 Euro, the laptop?', 1],
      ['Who is Mr Petersen from Rostock?', 2],
      ['Where does Annette teach yoga?', 3],
      ['Was there an accident with the taxi on the A7?', 4],
      ['What is 4471?', 5],
      ['Who likes Minecraft?', 6],
      ['What did Dr. Weber say?', 7],
    ],
  },
  'en on fr': {
    turns: [
      ['Luc', 'Rendez-vous le 12 avril chez Madame Fournier à Grenoble.'],
      ['Inès', 'Le billet pour Londres coûte 87 euros avec Eurostar.'],
      ['Luc', 'Thomas a cassé son iPhone en faisant du ski à Chamonix.'],
      ['Inès', 'On a adopté un labrador, il s’appelle Biscotte et il mange tout.'],
      ['Luc', 'Le code de l’immeuble est 2580, ne le perds pas cette fois.'],
      ['Inès', 'Camille joue au basket avec les filles de Montreuil.'],
      ['Luc', 'Le docteur Lefèvre m’a prescrit du paracétamol pour la semaine.'],
      ['Inès', 'Mon cousin Hugo travaille chez Airbus à Toulouse depuis 2019.'],
    ],
    questions: [
      ['What is in Grenoble on 12 April with Madame Fournier?', 0],
      ['How much is the Eurostar to Londres, 87?', 1],
      ['Who broke an iPhone in Chamonix?', 2],
      ['Who is Biscotte the labrador?', 3],
      ['What is the number 2580 for?', 4],
      ['Does Camille play basket in Montreuil?', 5],
      ['What did Lefevre say about paracetamol?', 6],
      ['Where has Hugo been since 2019, at Airbus?', 7],
    ],
  },
  'en on es': {
    turns: [
      ['Pablo', 'El 15 de agosto llega Verónica de Bogotá con sus hijos.'],
      ['Lucía', 'He comprado un sofá de IKEA por 349 euros, queda perfecto.'],
      ['Pablo', 'El partido del Betis es el domingo y tengo dos entradas.'],
      ['Lucía', 'Mi profesora Carolina Ibáñez se jubila este año.'],
      ['Pablo', 'Me han dado una beca Erasmus para estudiar en Bolonia.'],
      ['Lucía', 'La clave de la alarma es 7719, apúntala en algún sitio.'],
      ['Pablo', 'Martín y Esteban montan un bar de karaoke en Málaga.'],
      ['Lucía', 'Los martes voy a pilates con Nuria, es agotador.'],
    ],
    questions: [
      ['When does Veronica arrive from Bogota?', 0],
      ['What was 349 euros at IKEA?', 1],
      ['Are there tickets for Betis?', 2],
      ['What about Carolina Ibanez?', 3],
      ['Erasmus in Bolonia?', 4],
      ['What is 7719?', 5],
      ['Who opens a karaoke bar in Malaga, Esteban?', 6],
      ['Does Nuria do pilates?', 7],
    ],
  },
}
