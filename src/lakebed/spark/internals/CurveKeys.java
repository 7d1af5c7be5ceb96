// Puts rows on a space-filling curve: the twin of lakebed.data_files.curves. The body of a class,
// compiled by Spark's executors (see MarkedRows.java).
//
// references: 0 an int[] with the places of the columns, 1 a String[] with what they are ("long",
// "double" or "text"), 2 an Object[] with the bounds of each (long[], double[] or String[]), 3 the
// bits of a coordinate, 4 whether it is a Hilbert curve, 5 a long[]: keys at which parts begin, 6
// an int[]: what stands for each part.
//
// Rows come out with one column more, what stands for the part that they are in.

public Object generate(Object[] references) {
  return new CurveKeys(references);
}

final class CurveKeys extends org.apache.spark.sql.execution.BufferedRowIterator {
  private final int[] places;
  private final String[] kinds;
  private final Object[] bounds;
  private final int[] numRanges;
  private final int bits;
  private final boolean isHilbert;
  private final long[] starts;
  private final int[] marks;
  private final org.apache.spark.sql.catalyst.expressions.JoinedRow joined =
      new org.apache.spark.sql.catalyst.expressions.JoinedRow();
  private final org.apache.spark.sql.catalyst.expressions.GenericInternalRow more =
      new org.apache.spark.sql.catalyst.expressions.GenericInternalRow(1);
  private scala.collection.Iterator input;

  CurveKeys(Object[] references) {
    places = (int[]) references[0];
    kinds = (String[]) references[1];
    bounds = new Object[places.length];
    numRanges = new int[places.length];
    for (int i = 0; i < places.length; i++) {
      Object given = ((Object[]) references[2])[i];
      bounds[i] = kinds[i].equals("text") ? texts((String[]) given) : given;
      numRanges[i] = java.lang.reflect.Array.getLength(given) + 2;
    }
    bits = ((Integer) references[3]).intValue();
    isHilbert = ((Boolean) references[4]).booleanValue();
    starts = (long[]) references[5];
    marks = (int[]) references[6];
  }

  private static UTF8String[] texts(String[] given) {
    UTF8String[] found = new UTF8String[given.length];
    for (int i = 0; i < given.length; i++) {
      found[i] = UTF8String.fromString(given[i]);
    }
    return found;
  }

  public void init(int index, scala.collection.Iterator[] inputs) {
    partitionIndex = index;
    input = inputs[0];
  }

  protected void processNext() throws java.io.IOException {
    while (input.hasNext()) {
      InternalRow row = (InternalRow) input.next();
      more.update(0, Integer.valueOf(marks[after(starts, key(row))]));
      append(joined.apply(row, more));
      if (shouldStop()) {
        return;
      }
    }
  }

  private long key(InternalRow row) {
    int[] x = new int[places.length];
    for (int i = 0; i < places.length; i++) {
      x[i] = row.isNullAt(places[i]) ? 0 : ((1 + range(row, i)) << bits) / numRanges[i];
    }
    if (isHilbert) {
      transpose(x);
    }
    long found = 0L;
    for (int bit = bits - 1; bit >= 0; bit--) {
      for (int i = 0; i < x.length; i++) {
        found = (found << 1) | (long) ((x[i] >> bit) & 1);
      }
    }
    return found;
  }

  // How many of the bounds are not greater.
  private int range(InternalRow row, int i) {
    if (kinds[i].equals("long")) {
      return after((long[]) bounds[i], row.getLong(places[i]));
    }
    if (kinds[i].equals("double")) {
      return afterDouble((double[]) bounds[i], row.getDouble(places[i]));
    }
    return afterText((UTF8String[]) bounds[i], row.getUTF8String(places[i]));
  }

  private static int after(long[] of, long value) {
    int low = 0;
    int high = of.length;
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (of[middle] <= value) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  private static int afterDouble(double[] of, double value) {
    if (Double.isNaN(value)) {
      return of.length;
    }
    int low = 0;
    int high = of.length;
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (of[middle] <= value) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  private static int afterText(UTF8String[] of, UTF8String value) {
    int low = 0;
    int high = of.length;
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (of[middle].binaryCompare(value) <= 0) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  private void transpose(int[] x) {
    int top = 1 << (bits - 1);
    for (int q = top; q > 1; q >>= 1) {
      int p = q - 1;
      for (int i = 0; i < x.length; i++) {
        if ((x[i] & q) != 0) {
          x[0] ^= p;
        } else {
          int t = (x[0] ^ x[i]) & p;
          x[0] ^= t;
          x[i] ^= t;
        }
      }
    }
    for (int i = 1; i < x.length; i++) {
      x[i] ^= x[i - 1];
    }
    int t = 0;
    for (int q = top; q > 1; q >>= 1) {
      if ((x[x.length - 1] & q) != 0) {
        t ^= q - 1;
      }
    }
    for (int i = 0; i < x.length; i++) {
      x[i] ^= t;
    }
  }
}
