// The Pothos plugin with our own options of fields. A missing `sharing` or `verb` is a type error. The plugin passes the
// options to the extensions of the field, where sharing.ts, rights.ts and view/ read them.
//
// sharing          of a field of an object that has a resolver: who gets the same value (sharing.ts)
// verb             of a field of Query or Subscription: the verb of the domain whose right it needs (rights.ts); null if it
//                  needs none, or reads any object. A mutation has the name of its verb.
// introducesActor  whether a mutation accepts an actor who is not known yet, because it can make the actor known

import SchemaBuilder, {
  BasePlugin,
  type FieldNullability,
  type InputFieldMap,
  type InputShapeFromFields,
  type PothosOutputFieldConfig,
  type Resolver,
  type SchemaTypes,
  type ShapeFromTypeParam,
  type TypeParam,
} from '@pothos/core'
import type { Verb } from '../../domain/kernel/rights/rights.ts'

/**
 * SHAREABLE: the value depends only on the parent object, or on data that is the same for all viewers of the tenant.
 * PER_VIEWER: the field reads more data in the viewer's current view, which may differ from the view of the event.
 */
export type Sharing = 'SHAREABLE' | 'PER_VIEWER'

declare global {
  namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      fieldOptions: FieldOptionsPlugin<Types>
    }
    interface InferredFieldOptions<
      Types extends SchemaTypes,
      ResolveShape = unknown,
      Type extends TypeParam<Types> = TypeParam<Types>,
      Nullable extends FieldNullability<Type> = FieldNullability<Type>,
      Args extends InputFieldMap = InputFieldMap,
      ResolveReturnShape = unknown,
    > {
      Marked: {
        resolve: Resolver<
          ResolveShape,
          InputShapeFromFields<Args>,
          Types['Context'],
          ShapeFromTypeParam<Types, Type, Nullable>,
          ResolveReturnShape
        >
        sharing?: Sharing
      }
    }
    // The fields `t.expose…` have no resolver, so they have none of the options in Marked.
    interface ObjectFieldOptions<
      Types extends SchemaTypes,
      ParentShape,
      Type extends TypeParam<Types>,
      Nullable extends FieldNullability<Type>,
      Args extends InputFieldMap,
      ResolveReturnShape,
    > {
      sharing: Sharing
    }
    interface QueryFieldOptions<
      Types extends SchemaTypes,
      Type extends TypeParam<Types>,
      Nullable extends FieldNullability<Type>,
      Args extends InputFieldMap,
      ResolveReturnShape,
    > {
      verb: Verb | null
    }
    interface SubscriptionFieldOptions<
      Types extends SchemaTypes,
      Type extends TypeParam<Types>,
      Nullable extends FieldNullability<Type>,
      Args extends InputFieldMap,
      ResolveShape,
      ResolveReturnShape,
    > {
      verb: Verb
    }
    interface MutationFieldOptions<
      Types extends SchemaTypes,
      Type extends TypeParam<Types>,
      Nullable extends FieldNullability<Type>,
      Args extends InputFieldMap,
      ResolveReturnShape,
    > {
      introducesActor?: true
    }
  }
}

const OPTIONS = ['sharing', 'verb', 'introducesActor'] as const

class FieldOptionsPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(config: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    const given = config.pothosOptions as unknown as Record<string, unknown>
    const options = OPTIONS.filter((name) => name in given).map((name) => [name, given[name]])
    return { ...config, extensions: { ...config.extensions, ...Object.fromEntries(options) } }
  }
}

export const FIELD_OPTIONS = 'fieldOptions'
SchemaBuilder.registerPlugin(FIELD_OPTIONS, FieldOptionsPlugin)
