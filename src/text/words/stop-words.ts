// Lists the function words of eight languages, question words included. They are not indexed, searched or embedded in
// texts of their language, and they are the evidence for a text's language (language.ts).

/** The languages whose words are stemmed and whose function words are known. ISO 639-1 codes. */
export const LANGUAGES = ['en', 'de', 'fr', 'es', 'pt', 'it', 'nl', 'ru'] as const
export type Language = (typeof LANGUAGES)[number]

/** Function words by language, without accents, except that Russian keeps й. Elisions such as l' are in words.ts. */
const LISTS: Record<Language, string> = {
  en: `a about above after again against all also am an and any are as at be because been before being below between
    both but by ca can cannot could did do does doing done down during each either else ever every for from further
    get gets getting go goes going gonna got gotten had has have having he her here hers herself him himself his how i
    if in into is it its itself just let ll me might mine must my myself neither no nor not now of off oh ok okay on
    once only or other our ours ourselves out over per quite rather re really s shall she should since so some such t
    than that the their theirs them themselves then there these they this those though through to too toward towards u
    under until up upon us ve very via was we were what when where whether which while who whom whose why will with
    within without wo would yeah yes yet you your yours yourself yourselves im ive youre youve theyre theyve weve hes
    shes thats theres heres whats lets aint arent cant couldnt didnt doesnt dont hadnt hasnt havent isnt shouldnt
    wasnt werent wont wouldnt`,
  de: `ab aber ach alle allem allen aller alles als also am an andere anderem anderen anderer anderes auch auf aus bei
    beide beiden beim bin bis bist bitte da dabei dadurch dafur dagegen daher damit danach daneben dann daran darauf
    daraus darf darfst darin daruber darum darunter das dass davon davor dazu dein deine deinem deinen deiner deines
    dem den denen denn der deren des deshalb dessen dich die dies diese diesem diesen dieser dieses dir doch dort du
    durch durfen eben ein eine einem einen einer eines einige einigen einiger einiges einmal er es etwa etwas euch
    euer eure eurem euren eurer fur gab ganz gar gegen gehabt gewesen geworden gibt gibts hab habe haben habt haha
    halt hast hat hatte hatten hattest hier hin ich ihm ihn ihnen ihr ihre ihrem ihren ihrer ihres im in indem ins
    irgendwie ist ja je jede jedem jeden jeder jedes jemand jene jenem jenen jener jenes jetzt kann kannst kein keine
    keinem keinen keiner keines konnen konnt konnte konnten konntest mal man manche manchmal mehr mein meine meinem
    meinen meiner meines mich mir mit mochte mochten muss musst musste mussten nach nachdem ne nee nein nicht nichts
    nie niemand noch nun nur ob obwohl oder oh ohne okay schon sehr sei seid sein seine seinem seinen seiner seines
    seit selbst sich sie sind so sogar solche sollen sollst sollte sollten soll sondern sonst uber uberhaupt ubrigens
    um und uns unser unsere unserem unseren unserer unter viel viele vielleicht vom von vor wahrend wann war waren
    warst warum was weder wegen weil welche welchem welchen welcher welches wem wen wenn wer werde werden weshalb wie
    wieder wieso wieviel wieviele will willst wir wird wirklich wirst wo wobei wofur woher wohin wohl wollen wollt
    wollte wollten womit worden woran worauf woruber worum wovon wozu wurde wurden zu zum zur zwar zwischen heisst
    heissen oft`,
  fr: `a ai ait alors apres as assez au aucun aucune aujourdhui auquel aura aurait aurais aussi autre autres aux
    avaient avais avait avant avec avez aviez avoir avons ayant beaucoup bien c ca car ce ceci cela celle celles celui
    cependant ces cet cette ceux chaque chez ci combien comme comment d dans de deja depuis des deux dois doit doivent
    donc dont du elle elles en encore enfin entre es est et etaient etais etait etant ete etes etiez etre eu eux fait
    faire fais faut fera font fut ici il ils j jamais je jusqu jusque l la laquelle le lequel les lesquels leur leurs
    lui m ma mais me meme memes mes mien mieux moi moins mon n ne ni non nos notre nous on ont ou oui ouais par parce
    pas pendant peu peut peuvent peux plus plusieurs plutot pour pourquoi pouvez presque puis puisque qu quand que
    quel quelle quelles quels quelque quelques quelquun qui quoi s sa sans se sera serait seras serez serons seront
    ses si sien soi soit sommes son sont sous soyez suis sur t ta tandis tant te tel telle tellement tes toi ton
    toujours tous tout toute toutes tres trop tu un une va vais vas vers veut veux voici voila vont vos votre vous
    vraiment y cest jai`,
  es: `a acaso ademas ahi ahora al algo alguien algun alguna algunas alguno algunos alla alli ante antes aquel aquella
    aquellas aquello aquellos aqui asi aun aunque bajo bastante bien cada casi como con conmigo contigo contra cual
    cuales cualquier cuando cuanta cuantas cuanto cuantos de del desde despues donde dos durante e el ella ellas ello
    ellos en entonces entre era eramos eran eras eres es esa esas ese eso esos esta estaba estaban estado estamos
    estan estar estaria estas este esto estos estoy estuve estuvo fue fuera fueron fui fuimos ha habia habian haber
    hace hacer haces hacia han has hasta hay haya he hemos hoy hubo incluso la las le les lo los luego mas me mi mia
    mias mientras mio mios mis misma mismas mismo mismos mucha muchas mucho muchos muy nada nadie ni ningun ninguna
    ninguno no nos nosotras nosotros nuestra nuestras nuestro nuestros nunca o os otra otras otro otros para pero poco
    pocos podemos podria porque por pude pudo puede pueden puedes puedo pues que quien quienes quiere quieres quiero
    quiza quizas se sea segun ser sera seria si sido siempre siendo sin sino sobre sois sola solamente solo somos son
    soy su sus suya suyo tal tambien tampoco tan tanta tanto te tendra tenemos tener tengo tenia ti tiene tienen
    tienes toda todas todavia todo todos tras tu tus tuve tuvo tuya tuyo un una unas uno unos usted ustedes va vais
    vamos van vas vaya vosotros voy vuestra vuestro y ya yo oye vale pues cierto estabas`,
  pt: `a agora ah ai ainda alem algo alguem algum alguma algumas alguns ali ante antes ao aos apenas apos aquela
    aquelas aquele aqueles aqui aquilo as assim ate atraves bem bom cada ca claro com como comigo contigo contra
    contudo cuja cujo da dai dali daquela daquele das de dela delas dele deles depois desde dessa desse desta deste
    deu devia diante disso disto do dos durante e ela elas ele eles em embora enquanto entao entre era eram eramos es
    essa essas esse esses esta estamos estao estar estas estava estavam estavas este esteja esteve estes estive estou
    eu faz fazer fez foi fomos for foram fosse fui ha haver havia hoje ia iam ir isso isto ja la lhe lhes lo logo mais
    mas me mesma mesmas mesmo mesmos meu meus mim minha minhas muita muitas muito muitos na nada nao nas nem nenhum
    nenhuma nessa nesse nesta neste ninguem no nos nossa nossas nosso nossos num numa nunca o onde ontem os ou outra
    outras outro outros para pela pelas pelo pelos per perante pode podem podes pois por porem porque posso pouca
    pouco poucos pra pro propria proprio qual quais qualquer quando quanta quantas quanto quantos quao que quem quer
    quero se seja sem sao sempre sendo ser sera seria seu seus si sido sim so sob sobre somos sou sua suas tal talvez
    tambem tampouco tanta tanto tao te tem temos tendo tenha tenho tens ter teu teus teve ti tinha tinham tive toda
    todas todo todos tu tua tuas tudo um uma umas uns vai vais vamos vao voce voces vos vou ne cade pela porque`,
  it: `a abbia abbiamo abbiano ad adesso affatto agli ai al alcun alcuna alcune alcuni all alla alle allo allora altra
    altre altri altro anche ancora appena assai avete aveva avevamo avevano avevo avere avrei avrebbe avuto ben bene c
    che chi ci ciascuno cio cioe circa cmq coi col come comunque con contro cosa cosi cui d da dagli dai dal dall
    dalla dalle dallo davvero degli dei del dell della delle dello dentro di dietro dopo dove dov dovrei dovrebbe due
    dunque durante e ebbe ecco ed era erano eravamo eri ero essa esse essere essi esso fa faccio fai fanno fare fatto
    finche fino fra fu fui furono gia giu gli gliela glielo ha hai hanno ho i il in indietro infatti infine insieme
    intanto invece io l la le lei li lo loro lui lungo m ma magari mai me meglio meno mentre mi mia mie miei mio mo
    molta molte molti molto ne neanche negli nei nel nell nella nelle nello nemmeno neppure nessun nessuna nessuno
    niente no noi non nostra nostre nostri nostro nulla o oggi ogni ognuno oltre oppure ora ovvero per perche percio
    pero piu po poco pochi poi possiamo posso possono potrebbe potrei proprio pur pure qua qual quale quali qualche
    qualcosa qualcuno qualcuna quando quant quanta quante quanti quanto quasi quei quegli quel quell quella quelle
    quelli quello quest questa queste questi questo qui quindi sa saranno sarebbe sara sarei se sei sembra sempre
    senza si sia siamo siano siete sono sopra sotto sta stai stanno stata state stati stato stava stavo sto su sua sue
    sugli sui sul sull sulla sulle suo suoi tale tanta tanti tanto te ti tra tranne troppo tu tua tue tuo tuoi tutta
    tutte tutti tutto un una uno v va vabbe vai vanno verso vi via voglio voi volta vorrei vostra vostre vostri vostro
    vuoi vuole cera com`,
  nl: `aan achter af al alle alleen allemaal alles als altijd ander andere anders ben bent bij boven buiten daar
    daarna daarom dan dat de deze die dit doe doen doet door dus echt een eens eigenlijk elk elke en enkele er erg
    ergens even ga gaan gaat ge gedaan geen gehad gewoon gij had hadden he heb hebben hebt heeft heel heen hem hen het
    hier hij hoe hoeveel hoi hun iedereen ieder iedere iemand iets ik in inderdaad is ja je jij jouw jullie juist kan
    kon konden kun kunnen kunt laat maar maken me mee meer meest men met mij mijn misschien moest moet moeten mogen na
    naar naast nee net niemand niet niets nieuwe nog nooit nou nu of ofzo om omdat onder ons onze onszelf ook op over
    overal pas per precies samen sinds soms straks te tegen tenzij terug tijdens toch toen tot totdat tussen u uit uw
    vaak van vanaf vanuit veel voor vooral voordat waar waarom waarschijnlijk wanneer want waren was wat weer wel welk
    welke werd werden wie wij wil willen wilde word worden wordt wou ze zei zeker zelf zelfs zich zij zijn zo zoals
    zodat zonder zou zouden zul zullen zult hebt`,
  ru: `а без более больше будем будет будете будешь будто буду будут бы был была были было быть в вам вами вас ваш
    ваша ваше ваши ведь весь во вон вот впрочем все всегда всего всей всем всеми всему всех вся всю вы где да даже для
    до другая другие другой его ее ей ему если есть еще ж же за зачем здесь и из или им ими иногда их к каждый как
    какая какие каким каких какого какое какой какую когда ко кого кое кому которая которое которые который которых
    кто куда ли либо лишь меня мне много мной может можно мог могла могли могу мои моего моей моем моему моим моих мой
    моя мою мы на над надо нам нами нас наш наша нашего нашей наше наши не него нее ней некоторые нельзя нем нему нет
    неужели нибудь никогда ним ними них никто ничего но ну нужно о об оба обо один одна однако одни одно он она они
    оно опять от откуда очень перед по под пока после потом потому почему почти при про просто раз разве с сам сама
    сами само самый свое своего своей свои своим своих свой свою себе себя сейчас снова собой со совсем так также
    такая такие такой там твой твоя твои твое те тебе тебя тем теми теперь то тобой того тоже той только том тому тот
    точно тогда ту тут ты у уж уже хоть хотя чего чей чем через что чтоб чтобы чье чьи чья чему эта эти этим этих это
    этого этой этом этому этот эту я который сколько`,
}

/** The function words of each language, as `words` returns them. */
export const STOP_WORDS: Readonly<Record<Language, ReadonlySet<string>>> = Object.fromEntries(
  LANGUAGES.map((language) => [language, new Set(LISTS[language].split(/\s+/))]),
) as Record<Language, Set<string>>

/**
 * Function words of Chinese, Japanese and Thai, and Korean words of which only one syllable or pair is left, as
 * segments.ts splits them. Their letters show their language, so one set serves all texts.
 */
export const EAST_ASIAN_STOP_WORDS: ReadonlySet<string> = new Set(
  `的 了 是 在 我 你 他 她 它 们 我们 你们 他们 她们 也 都 就 和 跟 与 很 不 吗 呢 吧 啊 呀 这 那 这个 那个 什么 怎么 怎样 为什么 哪 哪里 哪个 哪儿 谁 几 要 会 有 没有 没 个 把 被 给
    让 从 到 对 还 又 再 着 过 得 地 而 但 但是 可是 因为 所以 如果 已经 多少 时候 什么时候 可以 她的 他的 我的 你的 あ い う え お か が き く け こ さ し す せ そ た だ ち っ つ て
    で と な に ぬ ね の は ば ひ ふ へ ほ ま み む め も や ゆ よ ら り る れ ろ わ を ん です ます した ました でした ない って から まで そう これ それ あれ この その あの ここ そこ
    いる ある する こと もの よう ため どう いつ どこ だれ どれ 誰 何 私 僕 俺 い ます けど だけ でも たら なら という ที่ และ ของ ใน จะ ได้ ก็ ไม่ ใช่ ไหม มาก เลย
    นะ ครับ ค่ะ คะ เป็น มี ให้ กับ แล้ว อยู่ ใคร อะไร ไหน เมื่อ เมื่อไหร่ เมื่อไร ทำไม อย่างไร กี่ ฉัน ผม คุณ เขา เธอ
    เรา พวก นี้ นั้น ว่า แต่ หรือ จาก ถึง โดย คือ ไว้ ด้วย แค่ จัง ยัง ซึ่ง ตั้งแต่ แทบ 나는 내가 나도 우리 저는 제가 이제 그거 그게 뭐야
    어디 언제 누가 누구 무슨 어느 어떤 있어 있는 있다 없어 했어 하는 해서 그리 그래 에서 지만`.split(/\s+/),
)
