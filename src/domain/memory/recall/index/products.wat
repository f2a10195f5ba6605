;; Scalar products of rows of a matrix with a vector. `npm run products` compiles this file to products-wasm.ts.
(module
  (memory (export "memory") 0)

  ;; Writes the product of each row with the query to `out`. All addresses and sizes are in bytes. `size` is that of a
  ;; row and of the query, a multiple of 32; `end` is the end of the last row; there is at least one row.
  (func (export "products") (param $row i32) (param $end i32) (param $size i32) (param $query i32) (param $out i32)
    (local $at i32)
    (local $rowEnd i32)
    (local $even v128)
    (local $odd v128)
    (loop $rows
      (local.set $even (v128.const f32x4 0 0 0 0))
      (local.set $odd (v128.const f32x4 0 0 0 0))
      (local.set $at (local.get $query))
      (local.set $rowEnd (i32.add (local.get $row) (local.get $size)))
      (loop $components
        (local.set $even
          (f32x4.add (local.get $even) (f32x4.mul (v128.load (local.get $row)) (v128.load (local.get $at)))))
        (local.set $odd
          (f32x4.add
            (local.get $odd)
            (f32x4.mul (v128.load offset=16 (local.get $row)) (v128.load offset=16 (local.get $at)))))
        (local.set $row (i32.add (local.get $row) (i32.const 32)))
        (local.set $at (i32.add (local.get $at) (i32.const 32)))
        (br_if $components (i32.lt_u (local.get $row) (local.get $rowEnd))))
      (local.set $even (f32x4.add (local.get $even) (local.get $odd)))
      (f32.store
        (local.get $out)
        (f32.add
          (f32.add (f32x4.extract_lane 0 (local.get $even)) (f32x4.extract_lane 1 (local.get $even)))
          (f32.add (f32x4.extract_lane 2 (local.get $even)) (f32x4.extract_lane 3 (local.get $even)))))
      (local.set $out (i32.add (local.get $out) (i32.const 4)))
      (br_if $rows (i32.lt_u (local.get $row) (local.get $end))))))
