// Notes which rows of which files pass by, as bitmaps. The body of a class: Spark's executors
// compile it, as they compile the code that Spark generates itself, so nothing has to be installed
// there.
//
// references: 0 the place of the column with the number of the file (int), 1 that of the row's
// index (long), 2 an int[] with places of columns to add up (long), 3 what comes out:
//   "rows"      the rows themselves; what was noted goes to the accumulator
//   "nothing"   no rows; what was noted goes to the accumulator
//   "bitmaps"   rows (file int, upper int, seen long, sums long..., bitmap binary)
// 4 a CollectionAccumulator of byte[]: records of (file int, upper int, seen long, sums long...,
// length int, bitmap). An index is 64 bits: `upper` are its upper 32, the bitmap has its lower 32.

public Object generate(Object[] references) {
  return new MarkedRows(references);
}

final class Marks {
  final int file;
  final int upper;
  final long[] sums;
  final org.roaringbitmap.RoaringBitmap rows = new org.roaringbitmap.RoaringBitmap();
  long seen = 0L;

  Marks(int file, int upper, int numSums) {
    this.file = file;
    this.upper = upper;
    this.sums = new long[numSums];
  }

  byte[] bitmap() {
    rows.runOptimize();
    java.nio.ByteBuffer buffer = java.nio.ByteBuffer.allocate(rows.serializedSizeInBytes());
    rows.serialize(buffer);
    return buffer.array();
  }
}

final class MarkedRows extends org.apache.spark.sql.execution.BufferedRowIterator {
  // Two bytes each in a bitmap, at most.
  private static final int MOST_HELD = 4 << 20;

  private final int file;
  private final int position;
  private final int[] sums;
  private final boolean passes;
  private final boolean emits;
  private final org.apache.spark.util.CollectionAccumulator messages;
  private final java.util.HashMap noted = new java.util.HashMap();
  private scala.collection.Iterator input;
  private Marks last = null;
  private int held = 0;
  private boolean done = false;

  MarkedRows(Object[] references) {
    file = ((Integer) references[0]).intValue();
    position = ((Integer) references[1]).intValue();
    sums = (int[]) references[2];
    passes = "rows".equals(references[3]);
    emits = "bitmaps".equals(references[3]);
    messages = (org.apache.spark.util.CollectionAccumulator) references[4];
  }

  public void init(int index, scala.collection.Iterator[] inputs) {
    partitionIndex = index;
    input = inputs[0];
  }

  protected void processNext() throws java.io.IOException {
    while (input.hasNext()) {
      InternalRow row = (InternalRow) input.next();
      note(row);
      if (held >= MOST_HELD) {
        flush();
      }
      if (passes) {
        append(row);
      }
      if (shouldStop()) {
        return;
      }
    }
    if (!done) {
      done = true;
      flush();
    }
  }

  private void note(InternalRow row) {
    int number = row.getInt(file);
    long index = row.getLong(position);
    int upper = (int) (index >>> 32);
    if (last == null || last.file != number || last.upper != upper) {
      last = marks(number, upper);
    }
    last.rows.add((int) index);
    last.seen++;
    for (int i = 0; i < sums.length; i++) {
      last.sums[i] += row.getLong(sums[i]);
    }
    held++;
  }

  private Marks marks(int number, int upper) {
    Long key = Long.valueOf(((long) number << 32) | (upper & 0xFFFFFFFFL));
    Marks found = (Marks) noted.get(key);
    if (found == null) {
      found = new Marks(number, upper, sums.length);
      noted.put(key, found);
    }
    return found;
  }

  private void flush() throws java.io.IOException {
    if (noted.isEmpty()) {
      return;
    }
    if (emits) {
      emit();
    } else {
      report();
    }
    noted.clear();
    last = null;
    held = 0;
  }

  private void emit() {
    org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter writer =
        new org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter(
            4 + sums.length, 64);
    java.util.Iterator each = noted.values().iterator();
    while (each.hasNext()) {
      Marks marks = (Marks) each.next();
      writer.reset();
      writer.zeroOutNullBytes();
      writer.write(0, marks.file);
      writer.write(1, marks.upper);
      writer.write(2, marks.seen);
      for (int i = 0; i < sums.length; i++) {
        writer.write(3 + i, marks.sums[i]);
      }
      writer.write(3 + sums.length, marks.bitmap());
      append(writer.getRow().copy());
    }
  }

  private void report() throws java.io.IOException {
    java.io.ByteArrayOutputStream bytes = new java.io.ByteArrayOutputStream();
    java.io.DataOutputStream out = new java.io.DataOutputStream(bytes);
    java.util.Iterator each = noted.values().iterator();
    while (each.hasNext()) {
      Marks marks = (Marks) each.next();
      out.writeInt(marks.file);
      out.writeInt(marks.upper);
      out.writeLong(marks.seen);
      for (int i = 0; i < sums.length; i++) {
        out.writeLong(marks.sums[i]);
      }
      byte[] bitmap = marks.bitmap();
      out.writeInt(bitmap.length);
      out.write(bitmap);
    }
    messages.add(bytes.toByteArray());
  }
}
