// Writes deletion vectors in the protocol's file format, many to a file. The body of a class,
// compiled by Spark's executors (see MarkedRows.java).
//
// Rows come as MarkedRows gives them ("bitmaps"), all of a file together. One vector at a time is
// in memory.
//
// references: 0 the root of the table, 1 how many letters of random folder the files get, 2
// settings of Hadoop, 3 the vectors that files have already, lines of (file, kind, place, offset,
// size) between tabs, where the place is "i" data in Base64, "u" a path below the root or "p" a
// URI, 4 the number of sums, 5 a CollectionAccumulator of byte[]: records of (file int, seen long,
// sums long..., marked long, total long, two longs of a UUID, length int, folder, offset int, size
// int).

public Object generate(Object[] references) {
  return new StoredMarks(references);
}

final class StoredMarks extends org.apache.spark.sql.execution.BufferedRowIterator {
  private static final int PORTABLE = 1681511377;
  private static final int NATIVE = 1681511376;
  private static final int ENOUGH = 64 << 20;

  private final String root;
  private final int numLetters;
  private final org.apache.hadoop.conf.Configuration settings;
  private final String known;
  private final long[] sums;
  private final org.apache.spark.util.CollectionAccumulator messages;
  private final java.io.ByteArrayOutputStream records = new java.io.ByteArrayOutputStream();
  private final java.io.DataOutputStream report = new java.io.DataOutputStream(records);
  private java.util.HashMap old = new java.util.HashMap();
  private java.util.TreeMap marked = new java.util.TreeMap();
  private scala.collection.Iterator input;
  private int file = -1;
  private long seen = 0L;
  private boolean done = false;
  private org.apache.hadoop.fs.FSDataOutputStream out = null;
  private java.util.UUID name = null;
  private String folder = null;

  StoredMarks(Object[] references) {
    root = (String) references[0];
    numLetters = ((Integer) references[1]).intValue();
    settings = ((org.apache.spark.util.SerializableConfiguration) references[2]).value();
    known = (String) references[3];
    sums = new long[((Integer) references[4]).intValue()];
    messages = (org.apache.spark.util.CollectionAccumulator) references[5];
  }

  public void init(int index, scala.collection.Iterator[] inputs) {
    partitionIndex = index;
    input = inputs[0];
    String[] lines = known.split("\n");
    for (int i = 0; i < lines.length; i++) {
      if (!lines[i].isEmpty()) {
        String[] parts = lines[i].split("\t");
        old.put(Integer.valueOf(parts[0]), parts);
      }
    }
  }

  protected void processNext() throws java.io.IOException {
    if (done) {
      return;
    }
    done = true;
    try {
      while (input.hasNext()) {
        take((InternalRow) input.next());
      }
      finish();
      close();
    } finally {
      if (out != null) {
        out.close();
      }
    }
    if (records.size() > 0) {
      messages.add(records.toByteArray());
    }
  }

  private void take(InternalRow row) throws java.io.IOException {
    int number = row.getInt(0);
    if (number != file) {
      finish();
      file = number;
    }
    seen += row.getLong(2);
    for (int i = 0; i < sums.length; i++) {
      sums[i] += row.getLong(3 + i);
    }
    org.roaringbitmap.RoaringBitmap rows = new org.roaringbitmap.RoaringBitmap();
    rows.deserialize(java.nio.ByteBuffer.wrap(row.getBinary(3 + sums.length)));
    add(marked, row.getInt(1), rows);
  }

  private void finish() throws java.io.IOException {
    if (marked.isEmpty()) {
      return;
    }
    long fresh = cardinality(marked);
    addOld();
    byte[] data = encoded(marked);
    if (out == null || out.getPos() > ENOUGH) {
      open();
    }
    long offset = out.getPos();
    java.util.zip.CRC32 checksum = new java.util.zip.CRC32();
    checksum.update(data);
    out.writeInt(data.length);
    out.write(data);
    out.writeInt((int) checksum.getValue());
    record(fresh, cardinality(marked), (int) offset, data.length);
    marked = new java.util.TreeMap();
    seen = 0L;
    java.util.Arrays.fill(sums, 0L);
  }

  private void record(long fresh, long total, int offset, int size) throws java.io.IOException {
    report.writeInt(file);
    report.writeLong(seen);
    for (int i = 0; i < sums.length; i++) {
      report.writeLong(sums[i]);
    }
    report.writeLong(fresh);
    report.writeLong(total);
    report.writeLong(name.getMostSignificantBits());
    report.writeLong(name.getLeastSignificantBits());
    byte[] letters = folder.getBytes("UTF-8");
    report.writeInt(letters.length);
    report.write(letters);
    report.writeInt(offset);
    report.writeInt(size);
  }

  private void open() throws java.io.IOException {
    close();
    name = java.util.UUID.randomUUID();
    folder = letters();
    String below = "deletion_vector_" + name + ".bin";
    String parent = folder.isEmpty() ? root : root + "/" + folder;
    org.apache.hadoop.fs.Path path = new org.apache.hadoop.fs.Path(parent, below);
    out = path.getFileSystem(settings).create(path, false);
    out.writeByte(1);
  }

  private void close() throws java.io.IOException {
    if (out != null) {
      org.apache.hadoop.fs.FSDataOutputStream finished = out;
      out = null;
      finished.close();
    }
  }

  private String letters() {
    String all = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    StringBuilder found = new StringBuilder();
    java.util.Random random = new java.security.SecureRandom();
    for (int i = 0; i < numLetters; i++) {
      found.append(all.charAt(random.nextInt(all.length())));
    }
    return found.toString();
  }

  private static void add(java.util.TreeMap to, int upper, org.roaringbitmap.RoaringBitmap rows) {
    Integer key = Integer.valueOf(upper);
    org.roaringbitmap.RoaringBitmap before = (org.roaringbitmap.RoaringBitmap) to.get(key);
    if (before == null) {
      to.put(key, rows);
    } else {
      before.or(rows);
    }
  }

  private static long cardinality(java.util.TreeMap rows) {
    long total = 0L;
    java.util.Iterator each = rows.values().iterator();
    while (each.hasNext()) {
      total += ((org.roaringbitmap.RoaringBitmap) each.next()).getLongCardinality();
    }
    return total;
  }

  private static byte[] encoded(java.util.TreeMap rows) throws java.io.IOException {
    long size = 12L;
    java.util.Iterator each = rows.values().iterator();
    while (each.hasNext()) {
      org.roaringbitmap.RoaringBitmap part = (org.roaringbitmap.RoaringBitmap) each.next();
      part.runOptimize();
      size += 4L + part.serializedSizeInBytes();
    }
    java.nio.ByteBuffer data = java.nio.ByteBuffer.allocate((int) size);
    data.order(java.nio.ByteOrder.LITTLE_ENDIAN);
    data.putInt(PORTABLE);
    data.putLong((long) rows.size());
    java.util.Iterator entries = rows.entrySet().iterator();
    while (entries.hasNext()) {
      java.util.Map.Entry entry = (java.util.Map.Entry) entries.next();
      data.putInt(((Integer) entry.getKey()).intValue());
      ((org.roaringbitmap.RoaringBitmap) entry.getValue()).serialize(data);
      data.order(java.nio.ByteOrder.LITTLE_ENDIAN);
    }
    return data.array();
  }

  private void addOld() throws java.io.IOException {
    String[] vector = (String[]) old.get(Integer.valueOf(file));
    if (vector == null) {
      return;
    }
    java.nio.ByteBuffer data = java.nio.ByteBuffer.wrap(bytes(vector));
    data.order(java.nio.ByteOrder.LITTLE_ENDIAN);
    int magic = data.getInt();
    if (magic == Integer.reverseBytes(NATIVE)) {
      data.order(java.nio.ByteOrder.BIG_ENDIAN);
      magic = NATIVE;
    }
    if (magic != NATIVE && magic != PORTABLE) {
      throw new java.io.IOException(
          "the deletion vector of file " + file + " is in no known format");
    }
    java.nio.ByteOrder order = data.order();
    long count = magic == PORTABLE ? data.getLong() : (long) data.getInt();
    for (long i = 0L; i < count; i++) {
      // A key, or the length of what follows.
      int first = data.getInt();
      org.roaringbitmap.RoaringBitmap rows = new org.roaringbitmap.RoaringBitmap();
      rows.deserialize((java.nio.ByteBuffer) data.slice());
      data.position(data.position() + rows.serializedSizeInBytes());
      data.order(order);
      add(marked, magic == PORTABLE ? first : (int) i, rows);
    }
  }

  private byte[] bytes(String[] vector) throws java.io.IOException {
    if (vector[1].equals("i")) {
      return java.util.Base64.getDecoder().decode(vector[2]);
    }
    org.apache.hadoop.fs.Path path =
        vector[1].equals("u")
            ? new org.apache.hadoop.fs.Path(root, vector[2])
            : new org.apache.hadoop.fs.Path(java.net.URI.create(vector[2]));
    byte[] data = new byte[Integer.parseInt(vector[4])];
    org.apache.hadoop.fs.FSDataInputStream in = path.getFileSystem(settings).open(path);
    try {
      in.readFully(Long.parseLong(vector[3]) + 4L, data);
    } finally {
      in.close();
    }
    return data;
  }
}
