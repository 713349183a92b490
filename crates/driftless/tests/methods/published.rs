//! What PF-net's published checkpoint of walls and colours holds, decoded by hand from its files.

/// Name without scope, shape, position in the data file, sum, and root of the sum of squares.
pub type Row = (&'static str, &'static [u64], u64, f64, f64);

/// Bytes of the index, and of the data file.
pub const SIZES: (usize, u64) = (1545, 4_130_404);
/// Position and size of the empty block and of the index block, as the footer gives them.
pub const PLACES: [(u64, u64); 2] = [(1464, 8), (1477, 15)];

#[rustfmt::skip]
#[allow(clippy::unreadable_literal)] // as they were printed
pub const ROWS: [Row; 38] = [
    ("joint/fc1/bias", &[1], 0, 0.000410, 0.000410),
    ("joint/fc1/kernel", &[400, 1], 4, -4.135216, 1.530751),
    ("joint/l1_conv3/bias", &[12, 12, 8], 1604, 13.617049, 0.983290),
    ("joint/l1_conv3/kernel", &[144, 216, 8], 6212, 1469.742125, 13.602967),
    ("joint/l1_conv5/bias", &[12, 12, 8], 1001540, 15.763193, 1.057268),
    ("joint/l1_conv5/kernel", &[144, 600, 8], 1006148, 4932.236071, 23.512819),
    ("map/LayerNorm/beta", &[64], 3770948, -3.024423, 0.602929),
    ("map/LayerNorm/gamma", &[64], 3771204, 65.247036, 8.199273),
    ("map/LayerNorm_1/beta", &[8], 3771460, -0.284895, 0.161259),
    ("map/LayerNorm_1/gamma", &[8], 3771492, 7.933165, 2.811477),
    ("map/l1_conv3/bias", &[24], 3771524, 0.968519, 0.397988),
    ("map/l1_conv3/kernel", &[3, 3, 1, 24], 3771620, 1.072415, 4.464218),
    ("map/l1_conv5/bias", &[16], 3772484, 0.099026, 0.110876),
    ("map/l1_conv5/kernel", &[5, 5, 1, 16], 3772548, -1.094370, 3.599015),
    ("map/l1_conv7/bias", &[8], 3774148, 0.028207, 0.088826),
    ("map/l1_conv7/kernel", &[7, 7, 1, 8], 3774180, -1.750042, 2.388036),
    ("map/l1_conv7_d2/bias", &[8], 3775748, 0.102918, 0.129711),
    ("map/l1_conv7_d2/kernel", &[7, 7, 1, 8], 3775780, 0.509338, 2.446273),
    ("map/l1_conv7_d3/bias", &[8], 3777348, -0.180719, 0.106833),
    ("map/l1_conv7_d3/kernel", &[7, 7, 1, 8], 3777380, -1.793619, 2.311107),
    ("map/l2_conv3/bias", &[4], 3778948, 0.148242, 0.092418),
    ("map/l2_conv3/kernel", &[3, 3, 64, 4], 3778964, 22.918320, 3.185974),
    ("map/l2_conv5/bias", &[4], 3788180, 0.095822, 0.120142),
    ("map/l2_conv5/kernel", &[5, 5, 64, 4], 3788196, 15.666292, 3.958998),
    ("observation/LayerNorm/beta", &[384], 3813796, 9.988512, 1.514998),
    ("observation/LayerNorm/gamma", &[384], 3815332, 400.215461, 20.489960),
    ("observation/LayerNorm_1/beta", &[16], 3816868, 1.470872, 0.599866),
    ("observation/LayerNorm_1/gamma", &[16], 3816932, 18.807375, 4.733108),
    ("observation/l1_conv3/bias", &[128], 3816996, 5.080416, 0.835418),
    ("observation/l1_conv3/kernel", &[3, 3, 3, 128], 3817508, -5.436958, 9.651622),
    ("observation/l1_conv5/bias", &[128], 3831332, 2.709103, 0.799790),
    ("observation/l1_conv5/kernel", &[5, 5, 3, 128], 3831844, -7.228279, 10.439397),
    ("observation/l1_conv5_d2/bias", &[64], 3870244, 1.622052, 0.555187),
    ("observation/l1_conv5_d2/kernel", &[5, 5, 3, 64], 3870500, -4.624524, 7.156478),
    ("observation/l1_conv5_d4/bias", &[64], 3889700, 1.486959, 0.464733),
    ("observation/l1_conv5_d4/kernel", &[5, 5, 3, 64], 3889956, 12.523852, 7.328393),
    ("observation/l2_conv3/bias", &[16], 3909156, 1.492421, 0.537451),
    ("observation/l2_conv3/kernel", &[3, 3, 384, 16], 3909220, 183.007291, 11.906318),
];
